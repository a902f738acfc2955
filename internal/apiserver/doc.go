// Package apiserver offers the registry over HTTP: resource URLs, JSON, problem+json errors, watches, OpenAPI.
//
// It exists so that there is one door, for the command line and programs alike. It translates and streams; what is allowed is
// for the registry to say, what happens for the core. It knows no host and no instance, and of the store only its errors.
package apiserver
