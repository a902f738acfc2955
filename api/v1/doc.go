// Package v1 holds the objects that users write and read: virtual machines, hosts, the cluster's configuration, actions and
// events. It exists so that the API, the Go client, the CLI and the core speak of one and the same thing.
//
// It may import the standard library and a YAML parser, and nothing of Holdfast: everything else imports it. Field comments
// are the manifest reference (docs/manifest-reference.md is generated from them): write them for users.
package v1
