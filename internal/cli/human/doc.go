// Package human writes moments, lengths of time and sizes the way people read them in tables and sentences.
//
// It exists so that every command says "2m10s ago (20:04:11)" the same way. It never asks the clock: callers pass now, and its
// location is the one that clock times are written in.
package human
