package v1

import "time"

// KindHost is the kind of a Host document.
const KindHost = "Host"

// Host is a machine that runs libvirt and QEMU.
type Host struct {
	TypeMeta `json:",inline"`
	// Metadata names the host. Hosts have no namespace.
	Metadata ObjectMeta `json:"metadata"`
	// Spec is what the admin wants.
	Spec HostSpec `json:"spec"`
	// Status is what Holdfast observes; a manifest leaves it out.
	Status HostStatus `json:"status,omitzero"`
}

// HostSpec is what the admin of a host wants.
type HostSpec struct {
	// URI is where libvirt listens, e.g. qemu+ssh://root@host1/system, qemu+tls://host1/system, qemu+tcp://10.0.0.1/system,
	// qemu:///system.
	URI string `json:"uri"`
	// Unschedulable keeps new instances away (cordon). Zero means instances may start here.
	Unschedulable bool `json:"unschedulable,omitempty"`
	// Reserved is kept free for the host itself and never promised.
	Reserved Resources `json:"reserved,omitzero"`
	// CPUOvercommit is how many virtual CPUs may be promised for each of the host's; zero means 4.
	CPUOvercommit float64 `json:"cpuOvercommit,omitempty"`
	// ConfirmedDown is a person's word that this host runs nothing: while it is unreachable, its VMs start elsewhere. Nil means
	// nobody has said so. Set by "holdfast host confirm-down".
	ConfirmedDown *ConfirmedDown `json:"confirmedDown,omitempty"`
	// StartLimit is how many instances may be starting on this host at once. Zero means the cluster's limit per host.
	StartLimit int `json:"startLimit,omitempty"`
}

// ConfirmedDown says who vouched for a host being down, and when.
type ConfirmedDown struct {
	// By says who.
	By string `json:"by,omitempty"`
	// At is when.
	At time.Time `json:"at"`
}

// Resources of a host or an instance.
type Resources struct {
	// Memory in bytes.
	Memory Quantity `json:"memory,omitempty"`
	// CPUs is a number of host CPUs or virtual CPUs.
	CPUs int `json:"cpus,omitempty"`
}

// HostState is the one word about a host.
type HostState string

// The states of a host.
const (
	// HostConnecting: not yet reached since the control plane started or the host was added.
	HostConnecting HostState = "Connecting"
	// HostUp: libvirt answers.
	HostUp HostState = "Up"
	// HostUnreachable: libvirt does not answer; what runs there is unknown.
	HostUnreachable HostState = "Unreachable"
	// HostRefused: it answers, but must not be used; the reason says why.
	HostRefused HostState = "Refused"
)

// HostStatus is what Holdfast observes about a host. The core alone writes it.
type HostStatus struct {
	// ObservedGeneration is the newest generation of spec that these lines take into account.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State is the one word for tables.
	State HostState `json:"state,omitempty"`
	// Reason is a constant that goes with State; empty while Up.
	Reason string `json:"reason,omitempty"`
	// Message is a sentence that goes with State, with libvirt's own text.
	Message string `json:"message,omitempty"`
	// Since is when State last changed.
	Since time.Time `json:"since,omitzero"`
	// UUID of the host as libvirt tells it.
	UUID string `json:"uuid,omitempty"`
	// BootID and Uptime tell one boot of the host from the next, as of ConnectedAt, when the newest connection was made.
	BootID      string    `json:"bootID,omitempty"`
	Uptime      Duration  `json:"uptime,omitzero"`
	ConnectedAt time.Time `json:"connectedAt,omitzero"`
	// LostAt is when a connection was lost last; zero: never.
	LostAt time.Time `json:"lostAt,omitzero"`
	// RebootedAt is when a boot of the host was noticed last: what ran before it does not any more.
	RebootedAt time.Time `json:"rebootedAt,omitzero"`
	// WordAt is the newest of spec.confirmedDown.at that was considered, and FencedAt when one was acted on: the instances that
	// were here by then have ended.
	WordAt   time.Time `json:"wordAt,omitzero"`
	FencedAt time.Time `json:"fencedAt,omitzero"`
	// Capacity of the machine.
	Capacity Resources `json:"capacity,omitzero"`
	// LibvirtVersion and QEMUVersion, e.g. "9.0.0".
	LibvirtVersion string `json:"libvirtVersion,omitempty"`
	QEMUVersion    string `json:"qemuVersion,omitempty"`
	// Accelerator is "kvm" or "tcg" (software emulation: for tests only).
	Accelerator string `json:"accelerator,omitempty"`
	// Pools and Networks that are active on the host.
	Pools    []string `json:"pools,omitempty"`
	Networks []string `json:"networks,omitempty"`
}
