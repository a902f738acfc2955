// Package lab runs real libvirt hosts on this one machine, so that Holdfast can be tried, shown and tested against the real
// thing: libvirtd, QEMU, booted guests, live migration, and hosts that lose their power in the middle of it.
//
// A host of the lab is a set of Linux namespaces (mount, UTS, PID, network, IPC) with a PID 1 of ours and a stock libvirtd in
// them. It has its own hostname, host UUID, /etc/libvirt, /var/lib/libvirt, /run and /dev, and one network card, plugged into a
// bridge that is the lab's switch. Killing its PID 1 is a power cut, because the kernel then kills all that lived with it.
//
// What a lab is made of can be found by looking at the machine: its processes by their command line, its bridge by its MAC
// address, both derived from the lab's directory. So a lab whose maker was killed at any moment can be taken down.
//
// Nothing in here knows what Holdfast does with hosts: the package imports no other package of ours. It needs root.
package lab
