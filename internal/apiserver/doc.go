// Package apiserver offers the registry over HTTP: resource URLs, JSON, problem+json errors, watches, OpenAPI.
//
// It exists so that there is one door, for the command line and programs alike. It translates and streams; what is allowed is
// for the registry to say, what happens for the core. It knows no host, no instance and no store.
package apiserver
