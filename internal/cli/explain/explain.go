// Package explain answers the three questions people have about a VM or a host: what state it is in, why, and what happens
// next and when.
//
// It exists so that "describe" never leaves anybody guessing, and so that the answers can be tested as sentences. It is pure: it
// reads the objects the server returned and the time it is told, and neither asks the server nor the clock. It does not decide
// anything either: where the core has given a reason in words, those words are passed on.
package explain

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// Answer is what a person wants to know first. Each field is one or more whole sentences.
type Answer struct {
	State, Why, Next string
}

// Hosts are the hosts by name. A nil map means that they are not known; an empty one that there are none.
type Hosts map[string]*v1.Host

// unreachable reports whether the host is known to be out of reach, or to be none of the hosts any more.
func (h Hosts) unreachable(name string) bool {
	host := h[name]
	return h != nil && (host == nil || host.Status.State == v1.HostUnreachable)
}

// The reasons for waiting that get their own sentences. Any other is told in the core's words.
const (
	waitStartLimit    = "StartLimit"
	waitUnschedulable = "Unschedulable"
	waitBackOff       = "CrashLoopBackOff"
)

// conditionRestartRequired is True when a running instance is built from an older template.
const conditionRestartRequired = "RestartRequired"

// command is what to type to do something to the VM.
func command(verb string, vm *v1.VirtualMachine, flags ...string) string {
	words := append([]string{"holdfast", verb, vm.Metadata.Name}, flags...)
	if ns := vm.Metadata.Namespace; ns != "" && ns != v1.DefaultNamespace {
		words = append(words, "-n", ns)
	}
	return `"` + strings.Join(words, " ") + `"`
}

// by is " by alice", or nothing when it is not known who.
func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

// sentence makes a message of the core or of libvirt fit between other sentences.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	return punctuated(string(unicode.ToUpper(first)) + s[size:])
}

// punctuated ends with a full stop, unless it ends a sentence already.
func punctuated(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// join puts the sentences that there are behind one another.
func join(sentences ...string) string {
	var kept []string
	for _, s := range sentences {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, " ")
}

// View is what is known beside the VM itself.
type View struct {
	// Hosts there are.
	Hosts Hosts
	// Leaderless: no control plane leads at the moment, so nothing is decided.
	Leaderless bool
	// Now gives the sentences their times, and its location their clock.
	Now time.Time
}

// VM explains a virtual machine.
func VM(vm *v1.VirtualMachine, view View) Answer {
	a := situation{vm: vm, hosts: view.Hosts, now: view.Now}.answer()
	if view.Leaderless {
		a.Next = "No control plane leads at the moment, and nothing is decided until one does; the server's log says why. Then: " + a.Next
	}
	return a
}

// situation is what the sentences are made from.
type situation struct {
	vm    *v1.VirtualMachine
	hosts Hosts
	now   time.Time
}

func (s situation) answer() Answer {
	st := &s.vm.Status
	switch {
	case s.vm.Metadata.DeletionTimestamp != nil:
		return s.terminating()
	case st.PrintableStatus == v1.PrintableQuarantined:
		return s.quarantined()
	case st.Instance != nil:
		return s.instance(st.Instance)
	case st.ObservedGeneration == 0:
		return s.unseen()
	case st.Waiting != nil:
		return s.waiting(st.Waiting)
	default:
		return s.off()
	}
}
