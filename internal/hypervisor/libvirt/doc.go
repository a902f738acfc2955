// Package libvirt is the hypervisor port on real hosts: stock libvirt and QEMU, spoken to over libvirt's own protocol with
// go-libvirt, without cgo.
//
// It exists because that protocol client has no deadlines, no keep-alive and no notion of a lost host, and because a domain
// must be written in one way only. So every call is bounded by its context (link.go), every domain is written from Holdfast's
// own template and never read back and changed (domain.go), and each call that could harm a guest first makes sure that it
// talks about the right instance (power.go). Nothing in here decides anything, retries, or remembers a host between
// connections.
package libvirt
