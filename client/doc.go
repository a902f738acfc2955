// Package client speaks the HTTP API of a Holdfast server. It exists for the command line and for anyone who writes programs
// against Holdfast in Go: typed methods, errors that can be decided on, watches that survive a restart of the server.
//
// It may import api/v1 and the standard library, and nothing else of Holdfast: what it knows, the API says.
package client
