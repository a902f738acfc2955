// Package labtests proves the promises on the real thing: the server as a process of its own that is killed with SIGKILL, real
// libvirtd, real QEMU, guests that boot. What happened is judged from outside, by the heartbeats that the guests write to their disks
// and by what runs on the hosts, never by Holdfast's status.
package labtests
