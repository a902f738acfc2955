package v1

import "time"

// KindVirtualMachine is the kind of a VirtualMachine document.
const KindVirtualMachine = "VirtualMachine"

// VirtualMachine is a machine that its owner wants to exist: what it is made of, when it runs, and how it is doing.
type VirtualMachine struct {
	TypeMeta `json:",inline"`
	// Metadata names the VM.
	Metadata ObjectMeta `json:"metadata"`
	// Spec is what the owner wants.
	Spec VirtualMachineSpec `json:"spec"`
	// Status is what Holdfast observes and decides; a manifest leaves it out.
	Status VirtualMachineStatus `json:"status,omitzero"`
}

// RunStrategy says when a VM runs.
type RunStrategy string

// The run strategies.
const (
	// RunAlways keeps the VM running: whenever an instance ends, a new one follows.
	RunAlways RunStrategy = "Always"
	// RunRerunOnFailure keeps the VM running until it ends cleanly: a new instance follows a failure, and none a shutdown by the
	// guest itself.
	RunRerunOnFailure RunStrategy = "RerunOnFailure"
	// RunManual runs the VM when somebody starts it, once for each start.
	RunManual RunStrategy = "Manual"
	// RunOnce runs the VM once: a start that fails is tried again, and after it has run it is over.
	RunOnce RunStrategy = "Once"
	// RunHalted keeps the VM off.
	RunHalted RunStrategy = "Halted"
)

// VirtualMachineSpec is what the owner of a VM wants.
type VirtualMachineSpec struct {
	// RunStrategy says when the VM runs: Always, RerunOnFailure, Manual, Once or Halted. Empty means Always.
	RunStrategy RunStrategy `json:"runStrategy,omitempty"`
	// Running is the older spelling of runStrategy: true is Always, false is Halted. Give one of the two, never both.
	Running *bool `json:"running,omitempty"`
	// Template is the machine. A change applies to the next instance.
	Template Template `json:"template"`
	// Placement restricts the hosts the VM may run on.
	Placement Placement `json:"placement,omitzero"`
	// StartTimeout bounds a launch, from the command to libvirt reporting the guest as running; past it the instance has
	// failed. Zero means the cluster's default (5m).
	StartTimeout Duration `json:"startTimeout,omitzero"`
	// StopGracePeriod is how long a guest may take to shut itself down when asked, before it is switched off. Zero means the
	// cluster's default (2m).
	StopGracePeriod Duration `json:"stopGracePeriod,omitzero"`
}

// Template is the machine: what a domain is built from.
type Template struct {
	// CPU is the number, topology and model of virtual CPUs.
	CPU CPU `json:"cpu,omitzero"`
	// Memory of the guest, e.g. 2Gi. At least 16Mi.
	Memory Quantity `json:"memory"`
	// Machine is QEMU's machine type.
	Machine Machine `json:"machine,omitzero"`
	// Firmware the guest boots with.
	Firmware Firmware `json:"firmware,omitzero"`
	// KernelBoot boots a kernel from the host's file system instead of a boot loader on a disk. Nil means no.
	KernelBoot *KernelBoot `json:"kernelBoot,omitempty"`
	// Disks of the guest, in the order in which it sees them (vda, vdb, …).
	Disks []Disk `json:"disks,omitempty"`
	// CDROMs of the guest, in order (sda, sdb, …).
	CDROMs []CDROM `json:"cdroms,omitempty"`
	// NICs are the network cards, in order.
	NICs []NIC `json:"nics,omitempty"`
	// CloudInit seeds cloud-init's NoCloud source. Nil means none.
	CloudInit *CloudInit `json:"cloudInit,omitempty"`
	// RNG gives the guest the host's random numbers (virtio-rng). Nil means true.
	RNG *bool `json:"rng,omitempty"`
	// PanicDevice lets a panicking guest say so, so that a crash is seen at once and not taken for silence. Nil means true.
	PanicDevice *bool `json:"panicDevice,omitempty"`
	// GuestAgent gives the guest the channel for qemu-guest-agent (org.qemu.guest_agent.0). Nil means true.
	GuestAgent *bool `json:"guestAgent,omitempty"`
	// SerialLog keeps what the guest writes to its first serial port. Nil means a console that nobody records.
	SerialLog *SerialLog `json:"serialLog,omitempty"`
}

// CPU is the number, topology and model of virtual CPUs.
type CPU struct {
	// Sockets of the guest. Zero means 1.
	Sockets int `json:"sockets,omitempty"`
	// Cores a socket. Zero means 1.
	Cores int `json:"cores,omitempty"`
	// Threads a core. Zero means 1.
	Threads int `json:"threads,omitempty"`
	// Model is libvirt's name of a CPU model, or "host-passthrough" or "host-model". Empty means the cluster's baseline, so
	// that the guest can move to every host.
	Model string `json:"model,omitempty"`
	// Features change single features of the model.
	Features []CPUFeature `json:"features,omitempty"`
}

// VCPUs is the number of virtual CPUs: sockets × cores × threads, where zero counts as one.
func (c CPU) VCPUs() int { return max(1, c.Sockets) * max(1, c.Cores) * max(1, c.Threads) }

// CPUFeature changes one feature of a CPU model.
type CPUFeature struct {
	// Name is libvirt's name of the feature, e.g. "vmx".
	Name string `json:"name"`
	// Policy is libvirt's: force, require, optional, disable or forbid. Empty means require.
	Policy string `json:"policy,omitempty"`
}

// Machine is QEMU's machine type.
type Machine struct {
	// Type is a machine type or an alias, e.g. "q35" or "pc-q35-7.2". An alias is resolved at the VM's first start and kept,
	// so that the guest never sees another machine. Empty means "q35".
	Type string `json:"type,omitempty"`
}

// Firmware the guest boots with.
type Firmware struct {
	// Type is "bios" or "uefi". Empty means "bios".
	Type string `json:"type,omitempty"`
	// UUID is the SMBIOS UUID that the guest sees. Empty means the VM's uid. No two VMs may have the same.
	UUID string `json:"uuid,omitempty"`
}

// The firmware types.
const (
	FirmwareBIOS = "bios"
	FirmwareUEFI = "uefi"
)

// KernelBoot boots a kernel directly.
type KernelBoot struct {
	// Kernel is the absolute path of the kernel on the host.
	Kernel string `json:"kernel"`
	// Initrd is the absolute path of the initial RAM disk on the host. Empty means none.
	Initrd string `json:"initrd,omitempty"`
	// Cmdline is the kernel's command line. Empty means none.
	Cmdline string `json:"cmdline,omitempty"`
}

// Disk is one block device. It is either a volume of a libvirt pool or a path on the host.
type Disk struct {
	// Name tells the disks of a VM apart; the guest sees it as the disk's serial number. At most 20 characters.
	Name string `json:"name"`
	// Pool and Volume name a volume of a libvirt storage pool. The other way is Path.
	Pool string `json:"pool,omitempty"`
	// Volume of Pool.
	Volume string `json:"volume,omitempty"`
	// Path is the absolute path of an image or block device on the host. The other way is Pool and Volume.
	Path string `json:"path,omitempty"`
	// Format of the image: raw or qcow2. Empty means qcow2 when the name ends in .qcow2, else raw.
	Format string `json:"format,omitempty"`
	// Bus the disk hangs on: virtio, scsi or sata. Empty means virtio.
	Bus string `json:"bus,omitempty"`
	// ReadOnly keeps the guest from writing. Zero means it may write.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Shareable allows other VMs to write to the same disk: only for guests with a cluster file system. Without it a disk
	// has at most one VM that writes.
	Shareable bool `json:"shareable,omitempty"`
	// BootOrder is the disk's place among the devices the firmware tries, from 1. Zero means it is not tried, unless no
	// device has an order: then the disks are tried as listed.
	BootOrder int `json:"bootOrder,omitempty"`
}

// CDROM is one CD drive with a medium in it.
type CDROM struct {
	// Name tells the drives of a VM apart.
	Name string `json:"name"`
	// Pool and Volume name an ISO image in a libvirt storage pool. The other way is Path.
	Pool string `json:"pool,omitempty"`
	// Volume of Pool.
	Volume string `json:"volume,omitempty"`
	// Path is the absolute path of an ISO image on the host. The other way is Pool and Volume.
	Path string `json:"path,omitempty"`
	// BootOrder as for disks.
	BootOrder int `json:"bootOrder,omitempty"`
}

// NIC is one network card. It is plugged into a libvirt network or a bridge of the host.
type NIC struct {
	// Name tells the cards of a VM apart.
	Name string `json:"name"`
	// Network is the name of a libvirt network. The other way is Bridge.
	Network string `json:"network,omitempty"`
	// Bridge is the name of a bridge on the host. The other way is Network.
	Bridge string `json:"bridge,omitempty"`
	// MAC address. Empty means one derived from the VM's uid and the card's name. No two cards may have the same.
	MAC string `json:"mac,omitempty"`
	// Model of the card: virtio, e1000e or rtl8139. Empty means virtio.
	Model string `json:"model,omitempty"`
	// BootOrder as for disks (network boot).
	BootOrder int `json:"bootOrder,omitempty"`
}

// CloudInit seeds cloud-init's NoCloud source: an ISO image in a pool, made anew for each instance.
type CloudInit struct {
	// Pool is the libvirt storage pool that holds the seed. Take a shared one: a seed on a local pool ties the VM to its host.
	Pool string `json:"pool"`
	// UserData is cloud-init's user-data, verbatim.
	UserData string `json:"userData,omitempty"`
	// NetworkData is cloud-init's network-config, verbatim. Empty means none.
	NetworkData string `json:"networkData,omitempty"`
}

// SerialLog keeps the output of the guest's first serial port.
type SerialLog struct {
	// Path is an absolute path on the host; what a new instance writes is appended.
	Path string `json:"path"`
}

// Placement restricts the hosts a VM may run on.
type Placement struct {
	// HostSelector: the host must have all these labels. Empty means any host.
	HostSelector map[string]string `json:"hostSelector,omitempty"`
}

// Phase of an instance.
type Phase string

// The phases. An instance is born Scheduled, when a host has promised it room.
const (
	// PhaseScheduled: a host has promised room; the launch waits for something on that host.
	PhaseScheduled Phase = "Scheduled"
	// PhaseLaunching: the host has been told to start it.
	PhaseLaunching Phase = "Launching"
	// PhaseRunning: libvirt says the guest runs.
	PhaseRunning Phase = "Running"
	// PhaseSucceeded: it ended as its owner or its guest wished.
	PhaseSucceeded Phase = "Succeeded"
	// PhaseFailed: it did not start, or ended as nobody wished.
	PhaseFailed Phase = "Failed"
)

// Instance is one incarnation of a VM on a host, from launch to end. A restart is a new instance.
type Instance struct {
	// ID tells instances of the VM apart.
	ID string `json:"id"`
	// Phase it is in.
	Phase Phase `json:"phase"`
	// Host that has promised room for it.
	Host string `json:"host"`
	// Generation of the VM's spec that the instance is built from.
	Generation int64 `json:"generation"`
	// CreatedAt is when the host promised room.
	CreatedAt time.Time `json:"createdAt"`
	// StartDeadline is when an instance that is not running yet has failed.
	StartDeadline time.Time `json:"startDeadline,omitzero"`
	// RunningAt is when the guest was first seen running; zero before.
	RunningAt time.Time `json:"runningAt,omitzero"`
	// Memory the host has promised it, in bytes: the guest's plus QEMU's overhead.
	Memory Quantity `json:"memory"`
	// VCPUs of the guest.
	VCPUs int `json:"vcpus"`
	// Stop is set when somebody wants the instance to end; nil otherwise.
	Stop *StopRequest `json:"stop,omitempty"`
	// Unclear: a launch of it was not answered, and may still be carried out late. Then the instance ends only when its
	// definition is certainly gone from the host, so that nothing can start it any more.
	Unclear bool `json:"unclear,omitempty"`
	// Abandon is how the instance has ended (a refused launch, a start time-out, any end of an unclear one) while its
	// definition is being removed: the end counts as soon as its absence is certain. Nil otherwise.
	Abandon *End `json:"abandon,omitempty"`
	// Resets counts how often the guest has rebooted inside this instance, as far as was seen; LastResetAt is when it did last.
	Resets      int       `json:"resets,omitempty"`
	LastResetAt time.Time `json:"lastResetAt,omitzero"`
	// Paused is the hypervisor's reason why the guest's CPUs stand still; empty while they run.
	Paused string `json:"paused,omitempty"`
}

// StopRequest is a wish to end an instance.
type StopRequest struct {
	// Reason is Stop, Restart, Delete or Halted.
	Reason string `json:"reason"`
	// By says who wished it.
	By string `json:"by,omitempty"`
	// At is when it was accepted.
	At time.Time `json:"at"`
	// Deadline is when the guest is switched off if it has not shut itself down.
	Deadline time.Time `json:"deadline"`
	// Force means it is switched off now.
	Force bool `json:"force,omitempty"`
}

// The reasons of a StopRequest.
const (
	StopReasonStop    = "Stop"
	StopReasonRestart = "Restart"
	StopReasonDelete  = "Delete"
	StopReasonHalted  = "Halted"
)

// End says how an instance ended.
type End struct {
	// Instance is its id.
	Instance string `json:"instance"`
	// Host it was on.
	Host string `json:"host"`
	// Phase is Succeeded or Failed.
	Phase Phase `json:"phase"`
	// Reason is a constant, e.g. AsRequested, GuestShutdown, StartFailed, Crashed.
	Reason string `json:"reason"`
	// Message says it in words, with libvirt's own text where there is one.
	Message string `json:"message,omitempty"`
	// CreatedAt, RunningAt (zero: it never ran) and EndedAt.
	CreatedAt time.Time `json:"createdAt"`
	RunningAt time.Time `json:"runningAt,omitzero"`
	EndedAt   time.Time `json:"endedAt"`
}

// Hold keeps a VM off, whatever its run strategy, until somebody starts it.
type Hold struct {
	// By says who asked.
	By string `json:"by,omitempty"`
	// At is when it was accepted.
	At time.Time `json:"at"`
}

// Finished says that a VM which runs until it is done is done: a RerunOnFailure VM ended cleanly, or a Once VM has run.
type Finished struct {
	// Instance that ended, how (a reason of End), and when.
	Instance string    `json:"instance"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
}

// Run is what an owner asked for with one start of a Manual VM, or with a Once VM.
type Run struct {
	// By says who asked.
	By string `json:"by,omitempty"`
	// At is when it was accepted.
	At time.Time `json:"at"`
}

// CrashLoop counts the failures in a row, and says when the next try is.
type CrashLoop struct {
	// ConsecutiveFailures in a row; a long enough run, a start or a change of the template reset it.
	ConsecutiveFailures int `json:"consecutiveFailures"`
	// LastFailure is the end of the instance that failed last.
	LastFailure End `json:"lastFailure"`
	// RetryAt is when the next instance may be made.
	RetryAt time.Time `json:"retryAt"`
}

// Waiting says why a VM that should run has no running instance.
type Waiting struct {
	// Reason is a constant, e.g. StartLimit, Unschedulable, CrashLoopBackOff.
	Reason string `json:"reason"`
	// Message is a sentence: what it waits for, and what would help.
	Message string `json:"message"`
	// Since is when it began to wait for this reason.
	Since time.Time `json:"since"`
}

// VirtualMachineStatus is what Holdfast observes and decides about a VM. The core alone writes it.
type VirtualMachineStatus struct {
	// ObservedGeneration is the newest generation of spec that these lines take into account.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ObservedRunStrategy is the run strategy of that generation.
	ObservedRunStrategy RunStrategy `json:"observedRunStrategy,omitempty"`
	// PrintableStatus is the one word for tables.
	PrintableStatus string `json:"printableStatus,omitempty"`
	// MachineType is what the machine type's alias was resolved to at the first start; empty before.
	MachineType string `json:"machineType,omitempty"`
	// MachineAlias is spec's machine type that MachineType was resolved from: another one there is resolved anew.
	MachineAlias string `json:"machineAlias,omitempty"`
	// Instances counts the instances the VM has had; an instance's id begins with its number.
	Instances int64 `json:"instances,omitempty"`
	// Hold keeps the VM off until a start; nil means no hold.
	Hold *Hold `json:"hold,omitempty"`
	// Run is the run that a start of a Manual VM asked for, or that a Once VM is for; nil means none.
	Run *Run `json:"run,omitempty"`
	// Finished: the VM is done, and stays off; nil means it is not, or its run strategy knows no such thing.
	Finished *Finished `json:"finished,omitempty"`
	// Instance is the current one; nil means the VM has none.
	Instance *Instance `json:"instance,omitempty"`
	// Waiting says why a VM that should run has no instance; nil otherwise.
	Waiting *Waiting `json:"waiting,omitempty"`
	// CrashLoop is there after failures; nil means none counts.
	CrashLoop *CrashLoop `json:"crashLoop,omitempty"`
	// Leftovers are hosts on which a definition of an ended instance may remain; they are cleaned when reachable.
	Leftovers []string `json:"leftovers,omitempty"`
	// History holds how the last few instances ended, the newest first.
	History []End `json:"history,omitempty"`
	// Conditions of the VM.
	Conditions []Condition `json:"conditions,omitempty"`
}

// The values of PrintableStatus.
const (
	PrintableStopped       = "Stopped"
	PrintableWaiting       = "Waiting"
	PrintableUnschedulable = "Unschedulable"
	PrintableBackOff       = "CrashLoopBackOff"
	PrintableStarting      = "Starting"
	PrintableRunning       = "Running"
	PrintablePaused        = "Paused"
	PrintableStopping      = "Stopping"
	PrintableTerminating   = "Terminating"
	PrintableUnknown       = "Unknown"
	PrintableQuarantined   = "Quarantined"
)
