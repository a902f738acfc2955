// Package stories lets the production engine live through random stories: users who change their minds, guests that crash, hosts
// that freeze and lose power, and a control plane that is killed at any moment – in virtual time, against simulated hosts and the
// store in memory.
//
// A story follows from its seed alone. What happens in it is logged from outside and judged by the checks of internal/invariant;
// at its end everything is healed, and every VM must be as its owner wants. A story that fails can be replayed by its seed, and is
// cut down to the steps that matter.
//
// Honestly: the steps, their moments, the guests, the latencies and the ids are the same in every replay of a seed. The order in
// which goroutines run at one and the same virtual instant is Go's, so a race of that kind may need some replays to show again.
//
// Everything here runs inside a testing/synctest bubble. Nothing of production may depend on it.
package stories
