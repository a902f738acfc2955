// Package cli is the command tree of the holdfast program: what people type, and how the answers look.
//
// It exists so that the program's whole face is in one place and can be tested without a process: commands take their world
// (streams, clock, environment) from an Env. It speaks to the server through the client package only, and decides nothing that
// the server should: rendering, waiting and wording are its trade. What needs more than the client and the lab (running a server)
// is handed in by cmd/holdfast.
package cli
