package v1

import (
	"fmt"
	"strings"
	"testing"
)

// template is a VM's manifest with these lines in its template; the first of them is line 8.
func template(lines string) string {
	return "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata:\n  name: a\nspec:\n  template:\n    memory: 1Gi\n" +
		"    " + strings.ReplaceAll(lines, "\n", "\n    ") + "\n"
}

// spec is a VM's manifest with these lines in its spec; the first of them is line 7.
func spec(lines string) string {
	return "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata:\n  name: a\nspec:\n  template: {memory: 1Gi}\n" +
		"  " + strings.ReplaceAll(lines, "\n", "\n  ") + "\n"
}

// meta is a VM's manifest with these lines in its metadata; the first of them is line 4.
func meta(lines string) string {
	return "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata:\n  " + strings.ReplaceAll(lines, "\n", "\n  ") +
		"\nspec: {template: {memory: 1Gi}}\n"
}

func hostWith(spec string) string {
	return "apiVersion: holdfast/v1\nkind: Host\nmetadata: {name: h}\nspec: {" + spec + "}\n"
}

func clusterWith(spec string) string {
	return "apiVersion: holdfast/v1\nkind: ClusterConfig\nspec: {" + spec + "}\n"
}

// many is a list of n disks on a bus.
func many(n int, bus string) string {
	list := ""
	for i := range n {
		list += fmt.Sprintf("\n- {name: d%d, path: /d%d, bus: %s}", i, i, bus)
	}
	return list
}

// decodeErrors has one case for each thing that can be wrong. The texts are what users see.
var decodeErrors = []struct{ name, manifest, want string }{
	{"not YAML", "a: [b\n",
		`f:1:1: not YAML: did not find expected ',' or ']': correct the YAML here or in the lines above`},
	{"not YAML after a good document", meta("name: a") + "---\na: b: c\n",
		`f:7:1: not YAML: mapping values are not allowed in this context: correct the YAML here or in the lines above`},
	{"not UTF-8", "a: b\nc: \xff\n",
		`f:2:1: this line is not UTF-8 text: save the file as UTF-8`},
	{"a list at the top", "- a\n",
		`f:1:1: a document is a mapping of fields, and this is a list: begin it with apiVersion: holdfast/v1 and kind: VirtualMachine`},
	{"text at the top", "hello\n",
		`f:1:1: a document is a mapping of fields, and this is the text "hello": begin it with apiVersion: holdfast/v1 and kind: VirtualMachine`},
	{"no apiVersion and no kind", "metadata: {name: a}\n",
		"f:1:1: apiVersion: missing: write apiVersion: holdfast/v1\nf:1:1: kind: missing: write kind: VirtualMachine, Host or ClusterConfig"},
	{"another apiVersion", "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n",
		`f:1:13: apiVersion: "kubevirt.io/v1" is not a version that this server speaks: write apiVersion: holdfast/v1`},
	{"a number as apiVersion", "apiVersion: 1\nkind: Host\n",
		`f:1:13: apiVersion: this is the number 1 where text is needed: write apiVersion: holdfast/v1 and a kind`},
	{"unknown kind", "apiVersion: holdfast/v1\nkind: Pod\n",
		`f:2:7: kind: "Pod" is not a kind: write VirtualMachine, Host or ClusterConfig`},
	{"misspelt kind", "apiVersion: holdfast/v1\nkind: virtualmachine\n",
		`f:2:7: kind: "virtualmachine" is not a kind: did you mean VirtualMachine? It is one of VirtualMachine, Host or ClusterConfig`},
	{"an action", "apiVersion: holdfast/v1\nkind: Action\n",
		`f:2:7: kind: an Action is not written in a manifest: use holdfast start, stop or restart`},
	{"an event", "apiVersion: holdfast/v1\nkind: Event\n",
		`f:2:7: kind: an Event is not written in a manifest: Holdfast writes them: remove the document`},
	{"misspelt field", strings.Replace(template("rng: true"), "memory", "memroy", 1),
		`f:7:5: spec.template.memroy: unknown field "memroy": did you mean "memory"?`},
	{"field of another case", template("cdRoms: []"),
		`f:8:5: spec.template.cdRoms: unknown field "cdRoms": did you mean "cdroms"?`},
	{"field in the wrong place", spec("memory: 1Gi"),
		`f:7:3: spec.memory: unknown field "memory": it belongs under spec.template`},
	{"field that is nowhere", template("colour: blue"),
		`f:8:5: spec.template.colour: unknown field "colour": the fields here are cpu, memory, machine, firmware, kernelBoot, disks, cdroms, nics, cloudInit, rng, panicDevice, guestAgent and serialLog`},
	{"field that is given twice", template("rng: true\nrng: false"),
		`f:9:5: spec.template.rng: field "rng" is already given at line 8: keep one of the two`},
	{"field that is given twice, merged", template("cpu: {<<: {cores: 1, cores: 2}}"),
		`f:8:26: spec.template.cpu.cores: field "cores" is already given at line 8: keep one of the two`},
	{"merging text", template("cpu: {<<: x}"),
		`f:8:10: spec.template.cpu: "<<" takes mappings, and this is the text "x": write <<: *anchor`},
	{"a mapping as a key", template("{a: b}: c"),
		`f:8:5: spec.template: a field's name is text, and this is a mapping`},
	{"text for a mapping", template("cpu: 4"),
		`f:8:10: spec.template.cpu: this is the number 4 where a mapping of fields is needed: its fields are sockets, cores, threads, model and features`},
	{"a mapping for a list", template("disks: {name: root}"),
		`f:8:12: spec.template.disks: this is a mapping where a list is needed: begin each element with "- "`},
	{"a list for text", spec("runStrategy: [Always]"),
		`f:7:16: spec.runStrategy: this is a list where text is needed`},
	{"a list for labels", meta("name: a\nlabels: [a]"),
		`f:5:11: metadata.labels: this is a list where a mapping of text to text is needed: write each as "key: value"`},
	{"number for text", meta("name: 123"),
		`f:4:9: metadata.name: this is the number 123 where text is needed: put it in quotes: "123"`},
	{"truth value for text", meta("name: a\nlabels: {on: true}"),
		`f:5:16: metadata.labels[on]: this is the truth value true where text is needed: put it in quotes: "true"`},
	{"text for a truth value", template("rng: yes"),
		`f:8:10: spec.template.rng: this is the text "yes" where true or false is needed: write true or false, without quotes`},
	{"quoted truth value", template(`rng: "true"`),
		`f:8:10: spec.template.rng: this is the text "true" where true or false is needed: write true or false, without quotes`},
	{"text for a number", template(`cpu: {cores: "4"}`),
		`f:8:18: spec.template.cpu.cores: this is the text "4" where a whole number is needed: write digits only, without quotes`},
	{"fraction for a whole number", template("cpu: {cores: 1.5}"),
		`f:8:18: spec.template.cpu.cores: this is the number 1.5 where a whole number is needed: write digits only, without quotes`},
	{"number that overflows", template("cpu: {cores: 99999999999999999999}"),
		`f:8:18: spec.template.cpu.cores: this is the number 99999999999999999999 where a whole number is needed: write digits only, without quotes`},
	{"text for a fraction", hostWith("uri: 'qemu:///system', cpuOvercommit: lots"),
		`f:4:46: spec.cpuOvercommit: this is the text "lots" where a number is needed: write digits with an optional decimal point, without quotes`},
	{"infinite", hostWith("uri: 'qemu:///system', cpuOvercommit: .inf"),
		`f:4:46: spec.cpuOvercommit: this is the number .inf where a number is needed: write digits with an optional decimal point, without quotes`},
	{"a mapping for a quantity", hostWith("uri: 'qemu:///system', reserved: {memory: {}}"),
		`f:4:50: spec.reserved.memory: this is a mapping where a quantity like 2Gi is needed`},
	{"not a time", meta("name: a\ncreationTimestamp: yesterday"),
		`f:5:22: metadata.creationTimestamp: "yesterday" is not a time: write it like 2026-01-31T12:00:00Z`},
	{"a tag", template("rng: !!binary aGk="),
		`f:8:10: spec.template.rng: this is the text "aGk=" where true or false is needed: write true or false, without quotes`},
	{"a tag of one's own", template("rng: !x true"),
		`f:8:10: spec.template.rng: the tag !x means nothing here: remove it`},
	{"quantity with a wrong unit", strings.Replace(template("rng: true"), "1Gi", "2GB", 1),
		`f:7:13: spec.template.memory: "2GB" is not a quantity: write 2G (powers of 1000) or 2Gi (powers of 1024)`},
	{"negative quantity", strings.Replace(template("rng: true"), "1Gi", "-1", 1),
		`f:7:13: spec.template.memory: "-1" is not a quantity: it is negative, and there are no fewer than zero bytes`},
	{"fraction of a quantity", strings.Replace(template("rng: true"), "1Gi", "1.5Gi", 1),
		`f:7:13: spec.template.memory: "1.5Gi" is not a quantity: write 1536Mi`},
	{"quantity that overflows", strings.Replace(template("rng: true"), "1Gi", "9999999Ti", 1),
		`f:7:13: spec.template.memory: "9999999Ti" is too large: the most is 8388607Ti`},
	{"no memory", strings.Replace(template("rng: true"), "    memory: 1Gi\n", "", 1),
		`f:7:5: spec.template.memory: missing: say how much the guest has, e.g. memory: 2Gi`},
	{"too little memory", strings.Replace(template("rng: true"), "1Gi", "8Mi", 1),
		`f:7:13: spec.template.memory: 8Mi is less than any guest can boot with: give it at least 16Mi`},
	{"duration without a unit", spec("startTimeout: 30"),
		`f:7:17: spec.startTimeout: "30" is not a duration: it has no unit; write 30s for seconds`},
	{"too long a duration", spec("stopGracePeriod: 25h"),
		`f:7:20: spec.stopGracePeriod: 25h is out of range: choose at most 24h`},
	{"running with runStrategy", spec("running: true\nrunStrategy: Always"),
		`f:7:12: spec.running: running and runStrategy are both given, and they say the same thing in two ways: keep one of the two: runStrategy Always is running true, Halted is running false`},
	{"unknown run strategy", spec("runStrategy: always"),
		`f:7:16: spec.runStrategy: "always" is not possible here: did you mean Always? It is one of Always, RerunOnFailure, Manual, Once or Halted`},
	{"run strategy in another spelling", spec("runStrategy: rerun-on-failure"),
		`f:7:16: spec.runStrategy: "rerun-on-failure" is not possible here: did you mean RerunOnFailure? It is one of Always, RerunOnFailure, Manual, Once or Halted`},
	{"run strategy of nobody", spec("runStrategy: Sometimes"),
		`f:7:16: spec.runStrategy: "Sometimes" is not possible here: write Always, RerunOnFailure, Manual, Once or Halted`},
	{"no name", meta("labels: {}"),
		`f:4:3: metadata.name: missing: name the object`},
	{"bad name", meta("name: My_VM"),
		`f:4:9: metadata.name: "My_VM" is not a name: use at most 63 lower-case letters, digits and '-', with a letter or digit at both ends`},
	{"long name", meta("name: " + strings.Repeat("a", 64)),
		`f:4:9: metadata.name: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is not a name: use at most 63 lower-case letters, digits and '-', with a letter or digit at both ends`},
	{"bad namespace", meta("name: a\nnamespace: A"),
		`f:5:14: metadata.namespace: "A" is not a namespace: use at most 63 lower-case letters, digits and '-', with a letter or digit at both ends`},
	{"bad label", meta("name: a\nlabels: {-a: b, example.com/a/b: c, ok: 'not ok'}"),
		"f:5:16: metadata.labels[-a]: \"-a\" is not a key: use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, and before it an optional domain and '/'\nf:5:36: metadata.labels[example.com/a/b]: \"example.com/a/b\" is not a key: use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, and before it an optional domain and '/'\nf:5:43: metadata.labels[ok]: \"not ok\" is not a label's value: use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"},
	{"large annotations", meta("name: a\nannotations: {a: " + strings.Repeat("a", 65536) + "}"),
		`f:5:16: metadata.annotations: the annotations have 65537 bytes: keep them within 65536`},
	{"bad host selector", spec("placement: {hostSelector: {rack: 'a b'}}"),
		`f:7:36: spec.placement.hostSelector[rack]: "a b" is not a label's value: use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends`},
	{"the same object twice", meta("name: a") + "---\n" + meta("name: a\nnamespace: default"),
		`f:10:9: metadata.name: VirtualMachine default/a is already in this file, at line 1: rename or remove one of the two`},
	{"too many vCPUs", template("cpu: {sockets: 2, cores: 512}"),
		`f:8:10: spec.template.cpu: sockets × cores × threads are 1024 virtual CPUs: a guest has at most 512`},
	{"negative vCPUs", template("cpu: {cores: -1}"),
		`f:8:18: spec.template.cpu.cores: -1 is out of range: choose between 1 and 512`},
	{"too many cores", template("cpu: {cores: 513}"),
		`f:8:18: spec.template.cpu.cores: 513 is out of range: choose between 1 and 512`},
	{"bad CPU model", template("cpu: {model: my cpu}"),
		`f:8:18: spec.template.cpu.model: "my cpu" is not a CPU model: write a name that libvirt knows, e.g. Skylake-Server, host-model or host-passthrough`},
	{"bad CPU features", template("cpu: {features: [{name: vmx, policy: on}, {name: vmx, policy: requires}, {policy: force}]}"),
		"f:8:42: spec.template.cpu.features[0].policy: \"on\" is not possible here: write force, require, optional, disable or forbid\nf:8:54: spec.template.cpu.features[1].name: \"vmx\" is already in spec.template.cpu.features[0]: no two may have the same\nf:8:67: spec.template.cpu.features[1].policy: \"requires\" is not possible here: did you mean require? It is one of force, require, optional, disable or forbid\nf:8:78: spec.template.cpu.features[2].name: missing: write libvirt's name of the feature, e.g. vmx"},
	{"bad machine", template("machine: {type: pc q35}"),
		`f:8:21: spec.template.machine.type: "pc q35" is not a machine type: write an alias like q35, or a type like pc-q35-7.2`},
	{"bad firmware", template("firmware: {type: efi, uuid: 123e4567}"),
		"f:8:22: spec.template.firmware.type: \"efi\" is not possible here: did you mean uefi? It is one of bios or uefi\nf:8:33: spec.template.firmware.uuid: \"123e4567\" is not a UUID: write it like 4dea22b3-1d52-d8f3-2516-782e98ab3fa0"},
	{"relative kernel", template("kernelBoot: {kernel: boot/vmlinuz, initrd: /boot/}"),
		"f:8:26: spec.template.kernelBoot.kernel: \"boot/vmlinuz\" is not an absolute path: begin it with /, as the host sees the file\nf:8:48: spec.template.kernelBoot.initrd: \"/boot/\" is a directory: name the file in it"},
	{"long command line", template("kernelBoot: {kernel: /k, cmdline: " + strings.Repeat("a", 2048) + "}"),
		`f:8:39: spec.template.kernelBoot.cmdline: the command line has 2048 characters: a kernel reads at most 2047`},
	{"control character", template(`kernelBoot: {kernel: "/k\n"}`),
		`f:8:26: spec.template.kernelBoot.kernel: the character U+000A is not possible here: remove it`},
	{"disk without an image", template("disks: [{name: a}]"),
		`f:8:13: spec.template.disks[0]: it names no image: give pool and volume, or path`},
	{"disk with two images", template("disks: [{name: a, pool: p, volume: v, path: /x}]"),
		`f:8:13: spec.template.disks[0]: it has both a path and a pool's volume: keep path, or pool and volume`},
	{"disk with half an image", template("disks: [{name: a, pool: p}, {name: b, volume: v}]"),
		"f:8:13: spec.template.disks[0].volume: missing: name the volume of the pool\nf:8:33: spec.template.disks[1].pool: missing: name a storage pool of libvirt"},
	{"disk with a relative path", template("disks: [{name: a, path: x.img}]"),
		`f:8:29: spec.template.disks[0].path: "x.img" is not an absolute path: begin it with /, as the host sees the file`},
	{"disk with a path as volume", template("disks: [{name: a, pool: p/q, volume: a/b}]"),
		"f:8:29: spec.template.disks[0].pool: \"p/q\" is not a pool's name: write the name that virsh pool-list shows\nf:8:42: spec.template.disks[0].volume: \"a/b\" is not a volume's name: write the name that virsh vol-list shows, without a path"},
	{"bad disk names", template("disks: [{path: /a}, {name: a b, path: /b}, {name: " + strings.Repeat("a", 21) + ", path: /c}]"),
		"f:8:13: spec.template.disks[0].name: missing: name it with at most 20 letters, digits, '-', '_' and '.': the guest sees it as the serial number\nf:8:32: spec.template.disks[1].name: \"a b\" is not possible here: name it with at most 20 letters, digits, '-', '_' and '.': the guest sees it as the serial number\nf:8:55: spec.template.disks[2].name: \"aaaaaaaaaaaaaaaaaaaaa\" is not possible here: name it with at most 20 letters, digits, '-', '_' and '.': the guest sees it as the serial number"},
	{"disk name twice", template("disks: [{name: a, path: /a}, {name: a, path: /b}]"),
		`f:8:41: spec.template.disks[1].name: "a" is already in spec.template.disks[0]: no two may have the same`},
	{"disk image twice", template("disks: [{name: a, path: /a/b}, {name: b, path: /a/../a/b}]"),
		`f:8:36: spec.template.disks[1]: "/a/b" is already in spec.template.disks[0]: no two may have the same`},
	{"bad disk bus and format", template("disks: [{name: a, path: /a, bus: ide, format: vmdk}]"),
		"f:8:38: spec.template.disks[0].bus: \"ide\" is not possible here: write virtio, scsi or sata\nf:8:51: spec.template.disks[0].format: \"vmdk\" is not possible here: write raw or qcow2"},
	{"shared qcow2", template("disks: [{name: a, path: /a.qcow2, shareable: true}]"),
		`f:8:50: spec.template.disks[0].shareable: a qcow2 image cannot have two writers, whatever the guests do: use a raw image, or remove shareable`},
	{"read-only SATA", template("disks: [{name: a, path: /a, bus: sata, readOnly: true}]"),
		`f:8:54: spec.template.disks[0].readOnly: QEMU has no read-only SATA disks: use bus virtio or scsi`},
	{"too many SATA disks", template("disks:" + many(6, "sata") + "\ncdroms: [{name: cd, path: /cd}]"),
		`f:14:34: spec.template.disks[5].bus: more than 6 devices on bus sata: put some on another bus: virtio takes 24, scsi 64, sata 6 with the CD-ROMs`},
	{"too many virtio disks", template("disks:" + many(25, "virtio")),
		`f:33:36: spec.template.disks[24].bus: more than 24 devices on bus virtio: put some on another bus: virtio takes 24, scsi 64, sata 6 with the CD-ROMs`},
	{"too many CD-ROMs", template("cdroms:" + strings.ReplaceAll(many(6, ""), ", bus: ", "") + "\ncloudInit: {pool: p, userData: x}"),
		`f:9:5: spec.template.cdroms: 6 drives are more than fit: a VM has room for 6, and for one less with cloudInit`},
	{"CD-ROM name twice, no image", template("cdroms: [{name: a, path: /a}, {name: a}]"),
		"f:8:35: spec.template.cdroms[1]: it names no image: give pool and volume, or path\nf:8:42: spec.template.cdroms[1].name: \"a\" is already in spec.template.cdroms[0]: no two may have the same"},
	{"bad NICs", template("nics: [{name: a}, {name: a, network: n, bridge: b}, {name: c, bridge: a/b}, {name: d, network: n, model: e1000}]"),
		"f:8:12: spec.template.nics[0]: it is plugged into nothing: give network (of libvirt) or bridge (of the host)\nf:8:23: spec.template.nics[1]: it has both a network and a bridge: keep one of the two\nf:8:30: spec.template.nics[1].name: \"a\" is already in spec.template.nics[0]: no two may have the same\nf:8:75: spec.template.nics[2].bridge: \"a/b\" is not an interface's name: write the bridge's name, e.g. br0\nf:8:110: spec.template.nics[3].model: \"e1000\" is not possible here: did you mean e1000e? It is one of virtio, e1000e or rtl8139"},
	{"bad MACs", template("nics: [{name: a, network: n, mac: 52-54-00-12-34-56}, {name: b, network: n, mac: '53:54:00:12:34:56'}, {name: c, network: n, mac: '00:00:00:00:00:00'}]"),
		"f:8:39: spec.template.nics[0].mac: \"52-54-00-12-34-56\" is not a MAC address: write it like 52:54:00:12:34:56, or leave it out\nf:8:86: spec.template.nics[1].mac: 53:54:00:12:34:56 is a multicast address, which no card can have: make the first byte even, e.g. 52\nf:8:135: spec.template.nics[2].mac: 00:00:00:00:00:00 is no card's address: leave it out to get one"},
	{"MAC twice", template("nics: [{name: a, network: n, mac: '52:54:00:00:00:0a'}, {name: b, network: n, mac: '52:54:00:00:00:0A'}]"),
		`f:8:88: spec.template.nics[1].mac: "52:54:00:00:00:0a" is already in spec.template.nics[0]: no two may have the same`},
	{"boot order clash", template("disks: [{name: a, path: /a, bootOrder: 1}, {name: b, path: /b, bootOrder: -1}]\nnics: [{name: a, network: n, bootOrder: 1}]"),
		"f:8:79: spec.template.disks[1].bootOrder: -1 is out of range: begin at 1\nf:9:45: spec.template.nics[0].bootOrder: 1 is already the place of spec.template.disks[0]: give each device a place of its own"},
	{"empty cloud-init", template("cloudInit: {pool: p}"),
		`f:8:16: spec.template.cloudInit: there is nothing in it: give userData, networkData or both, or leave cloudInit out`},
	{"cloud-init without a pool", template("cloudInit: {userData: x}"),
		`f:8:16: spec.template.cloudInit.pool: missing: name a storage pool of libvirt`},
	{"large cloud-init", template("cloudInit: {pool: p, userData: " + strings.Repeat("a", 524289) + ", networkData: " + strings.Repeat("a", 65537) + "}"),
		"f:8:36: spec.template.cloudInit.userData: it has 524289 bytes: keep it within 524288; #include can fetch more\nf:8:524340: spec.template.cloudInit.networkData: it has 65537 bytes: keep it within 65536"},
	{"relative serial log", template("serialLog: {path: log}"),
		`f:8:23: spec.template.serialLog.path: "log" is not an absolute path: begin it with /, as the host sees the file`},
	{"host without a URI", hostWith("unschedulable: true"),
		`f:4:7: spec.uri: missing: write where libvirt listens, e.g. qemu+ssh://root@host1/system, qemu+tls://host1/system or qemu:///system`},
	{"host that is no URI", hostWith("uri: 'host 1'"),
		`f:4:13: spec.uri: "host 1" is not a URI: write where libvirt listens, e.g. qemu+ssh://root@host1/system, qemu+tls://host1/system or qemu:///system`},
	{"host with another hypervisor", hostWith("uri: 'xen:///system'"),
		`f:4:13: spec.uri: "xen://" is not a way to reach libvirt: use qemu, qemu+unix, qemu+ssh, qemu+tls or qemu+tcp`},
	{"host without a path", hostWith("uri: qemu+ssh://root@h"),
		`f:4:13: spec.uri: "qemu+ssh://root@h" does not end in /system: write where libvirt listens, e.g. qemu+ssh://root@host1/system, qemu+tls://host1/system or qemu:///system`},
	{"host without a host", hostWith("uri: 'qemu+tls:///system'"),
		`f:4:13: spec.uri: "qemu+tls:///system" names no host: write where libvirt listens, e.g. qemu+ssh://root@host1/system, qemu+tls://host1/system or qemu:///system`},
	{"local host with a host", hostWith("uri: qemu+unix://h/system"),
		`f:4:13: spec.uri: qemu+unix is for this machine, and the URI names a host: use qemu+ssh, qemu+tls or qemu+tcp`},
	{"host with a password", hostWith("uri: qemu+tcp://a:b@h/system"),
		`f:4:13: spec.uri: it holds a password, which everybody who may read the host would see: use SSH keys or TLS certificates`},
	{"host in a namespace", "apiVersion: holdfast/v1\nkind: Host\nmetadata: {name: h, namespace: x}\nspec: {uri: 'qemu:///system'}\n",
		`f:3:32: metadata.namespace: objects of this kind have no namespace: remove it`},
	{"bad limits of a host", hostWith("uri: 'qemu:///system', cpuOvercommit: 0.01, startLimit: -1, reserved: {cpus: -1}"),
		"f:4:46: spec.cpuOvercommit: 0.01 is out of range: choose between 0.1 and 100; 1 promises no CPU twice\nf:4:64: spec.startLimit: -1 is out of range: choose between 1 and 100000\nf:4:85: spec.reserved.cpus: -1 is out of range: choose between 0 and 65536"},
	{"another ClusterConfig", "apiVersion: holdfast/v1\nkind: ClusterConfig\nmetadata: {name: main}\n",
		`f:3:18: metadata.name: there is one ClusterConfig, and it is not named "main": write name: cluster`},
	{"bad limits of the cluster", clusterWith("startLimit: {cluster: -1}, crashLoop: {initialDelay: 10m, maxDelay: 1m}, baselineCPUModel: a b"),
		"f:3:30: spec.startLimit.cluster: -1 is out of range: choose between 1 and 100000\nf:3:61: spec.crashLoop.initialDelay: 10m is longer than maxDelay, 1m: make it shorter, or maxDelay longer\nf:3:99: spec.baselineCPUModel: \"a b\" is not a CPU model: write a name that libvirt knows, e.g. Skylake-Server"},
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range decodeErrors {
		docs, err := DecodeManifests("f", []byte(c.manifest))
		if err == nil || err.Error() != c.want || docs != nil {
			t.Errorf("%s:\n%v\nwant:\n%s", c.name, err, c.want)
		}
	}
}
