package v1

import (
	"fmt"
	"regexp"
)

// Bounds of a virtual machine.
const (
	MinMemory = Quantity(16 << 20)
	MaxVCPUs  = 512
	// maxCmdline is what an x86 kernel reads.
	maxCmdline = 2047
	// maxUserData and maxNetworkData keep an object well below what a store takes in one request.
	maxUserData    = 512 << 10
	maxNetworkData = 64 << 10
)

var (
	machineWord = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.+]{0,63}$`)
	uuidForm    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

func (v *validator) vm(s *VirtualMachineSpec) {
	if s.Running != nil && s.RunStrategy != "" {
		v.add("spec.running", "running and runStrategy are both given, and they say the same thing in two ways",
			"keep one of the two: runStrategy Always is running true, Halted is running false")
	}
	v.enum("spec.runStrategy", string(s.RunStrategy), string(RunAlways), string(RunRerunOnFailure), string(RunManual), string(RunOnce), string(RunHalted))
	v.duration("spec.startTimeout", s.StartTimeout)
	v.duration("spec.stopGracePeriod", s.StopGracePeriod)
	v.labels("spec.placement.hostSelector", s.Placement.HostSelector)
	v.template(&s.Template)
}

func (v *validator) template(t *Template) {
	const at = "spec.template."
	v.cpu(&t.CPU)
	if v.must(t.Memory != 0, at+"memory", "missing", "say how much the guest has, e.g. memory: 2Gi") {
		v.must(t.Memory >= MinMemory, at+"memory", t.Memory.String()+" is less than any guest can boot with", "give it at least "+MinMemory.String())
	}
	v.must(t.Machine.Type == "" || machineWord.MatchString(t.Machine.Type), at+"machine.type",
		fmt.Sprintf("%q is not a machine type", t.Machine.Type), "write an alias like q35, or a type like pc-q35-7.2")
	v.enum(at+"firmware.type", t.Firmware.Type, FirmwareBIOS, FirmwareUEFI)
	if id := t.Firmware.UUID; id != "" {
		v.must(uuidForm.MatchString(id), at+"firmware.uuid", fmt.Sprintf("%q is not a UUID", id), "write it like 4dea22b3-1d52-d8f3-2516-782e98ab3fa0")
	}
	if k := t.KernelBoot; k != nil {
		v.absolute(at+"kernelBoot.kernel", k.Kernel)
		if k.Initrd != "" {
			v.absolute(at+"kernelBoot.initrd", k.Initrd)
		}
		v.must(len(k.Cmdline) <= maxCmdline, at+"kernelBoot.cmdline", fmt.Sprintf("the command line has %d characters", len(k.Cmdline)),
			fmt.Sprintf("a kernel reads at most %d", maxCmdline))
	}
	v.disks(t)
	v.cdroms(t)
	v.nics(t.NICs)
	v.bootOrder(t)
	v.cloudInit(t.CloudInit)
	if t.SerialLog != nil {
		v.absolute(at+"serialLog.path", t.SerialLog.Path)
	}
}

func (v *validator) cpu(c *CPU) {
	const at = "spec.template.cpu"
	// Each is bounded before they are multiplied: a product of three cannot overflow then.
	sound := v.count(at+".sockets", c.Sockets, MaxVCPUs)
	sound = v.count(at+".cores", c.Cores, MaxVCPUs) && sound
	sound = v.count(at+".threads", c.Threads, MaxVCPUs) && sound
	if sound {
		v.must(c.VCPUs() <= MaxVCPUs, at, fmt.Sprintf("sockets × cores × threads are %d virtual CPUs", c.VCPUs()),
			fmt.Sprintf("a guest has at most %d", MaxVCPUs))
	}
	v.must(c.Model == "" || machineWord.MatchString(c.Model), at+".model", fmt.Sprintf("%q is not a CPU model", c.Model),
		"write a name that libvirt knows, e.g. Skylake-Server, host-model or host-passthrough")
	seen := map[string]int{}
	for i, f := range c.Features {
		field := FieldIndex(at+".features", i)
		v.name(field+".name", f.Name, machineWord, "write libvirt's name of the feature, e.g. vmx")
		v.unique(seen, field+".name", f.Name, at+".features", i)
		v.enum(field+".policy", f.Policy, "force", "require", "optional", "disable", "forbid")
	}
}

// name wants a name of the given form.
func (v *validator) name(field, name string, form *regexp.Regexp, remedy string) {
	if v.must(name != "", field, "missing", remedy) {
		v.must(form.MatchString(name), field, fmt.Sprintf("%q is not possible here", name), remedy)
	}
}

// unique wants a value to come once in a list; an empty one is somebody else's problem.
func (v *validator) unique(seen map[string]int, field, value, list string, i int) {
	first, dup := seen[value]
	switch {
	case value == "":
	case dup:
		v.add(field, fmt.Sprintf("%q is already in %s", value, FieldIndex(list, first)), "no two may have the same")
	default:
		seen[value] = i
	}
}

func (v *validator) cloudInit(c *CloudInit) {
	if c == nil {
		return
	}
	const at = "spec.template.cloudInit"
	v.poolName(at+".pool", c.Pool)
	v.must(c.UserData != "" || c.NetworkData != "", at, "there is nothing in it", "give userData, networkData or both, or leave cloudInit out")
	v.must(len(c.UserData) <= maxUserData, at+".userData", fmt.Sprintf("it has %d bytes", len(c.UserData)),
		fmt.Sprintf("keep it within %d; #include can fetch more", maxUserData))
	v.must(len(c.NetworkData) <= maxNetworkData, at+".networkData", fmt.Sprintf("it has %d bytes", len(c.NetworkData)),
		fmt.Sprintf("keep it within %d", maxNetworkData))
}
