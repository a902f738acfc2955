// Package invariant holds Holdfast's promises as checks that can fail: OneInstance, StopSticks, PersistBeforeAct and the others,
// each under the name that the documents use.
//
// A check reads a log of what happened. The log has two sources, and neither is Holdfast's opinion of itself:
//
//   - from outside: each change of a domain's real state, with who caused it where that is known (Domain), and each call that left
//     for a host (Call). In simulation the simulated hosts tell it; in the lab, libvirt's own events and the test guests' heartbeats.
//   - from the store: each revision (Commit). It has what users asked for and got acknowledged, in the order in which it became
//     durable, and every status that the core wrote. Statuses are believed only where a promise is about them: was it written
//     before the call left, does it say a reason, does it promise more than there is.
//
// Entries that carry a store revision (Entry.Rev) are ordered exactly; others by time, as well as that goes. A check judges as far
// as the evidence goes: without calls PersistBeforeAct finds nothing, without causes an end counts as Holdfast's own.
//
// Nothing here may know the engine, the core, or how a log was made.
package invariant
