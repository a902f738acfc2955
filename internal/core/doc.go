// Package core decides. It is told what users want and what hosts show (Step), and answers with writes, commands and news
// (Ready) and with the next moment at which time alone changes something (NextDeadline).
//
// It is pure, so that the same code runs in production and in simulation and every decision can be replayed: no clock,
// goroutine, channel, I/O or randomness, and no map iteration whose order can be seen. It imports api/v1, the types of the
// hypervisor port and the standard library. A test (house_test.go) guards that.
package core
