package v1

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// full uses most of what a manifest can say.
const full = `# a comment
apiVersion: holdfast/v1
kind: VirtualMachine
metadata:
  name: db1
  namespace: prod
  labels: {app: db, example.com/tier: "1"}
  annotations:
    since: 2024-01-31
    note: |
      two
      lines
  uid: 4dea22b3-1d52-d8f3-2516-782e98ab3fa0
  generation: 3
  resourceVersion: "77"
  creationTimestamp: "2026-01-02T03:04:05Z"
spec:
  running: true
  startTimeout: 90s
  stopGracePeriod: 1h30m
  placement:
    hostSelector: {rack: r1}
  template:
    cpu: {sockets: 2, cores: 4, threads: 2, model: host-model, features: [{name: vmx, policy: disable}, {name: avx}]}
    memory: 2Gi
    machine: {type: pc-q35-7.2}
    firmware: {type: uefi, uuid: 4dea22b3-1d52-d8f3-2516-782e98ab3fa1}
    kernelBoot: {kernel: /boot/vmlinuz, initrd: /boot/initrd, cmdline: console=ttyS0}
    disks:
    - {name: root, pool: shared, volume: db1.qcow2, bootOrder: 1}
    - {name: data, path: /dev/vg/db1, bus: scsi, shareable: true}
    cdroms:
    - {name: cd, pool: iso, volume: debian.iso, bootOrder: 2}
    nics:
    - {name: lan, network: default, mac: "52:54:00:12:34:56", bootOrder: 3}
    - {name: dmz, bridge: br0, model: e1000e}
    cloudInit: {pool: shared, userData: "#cloud-config\n"}
    rng: false
    serialLog: {path: /var/log/db1.log}
status:
  printableStatus: Running
  whatever: newer servers write
`

func TestDecodeFull(t *testing.T) {
	docs, err := DecodeManifests("full.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := &VirtualMachine{
		TypeMeta: TypeMeta{APIVersion: APIVersion, Kind: KindVirtualMachine},
		Metadata: ObjectMeta{Name: "db1", Namespace: "prod", Labels: map[string]string{"app": "db", "example.com/tier": "1"},
			Annotations: map[string]string{"since": "2024-01-31", "note": "two\nlines\n"}, UID: "4dea22b3-1d52-d8f3-2516-782e98ab3fa0",
			Generation: 3, ResourceVersion: "77", CreationTimestamp: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Spec: VirtualMachineSpec{
			Running: &yes, StartTimeout: Duration(90 * time.Second), StopGracePeriod: Duration(90 * time.Minute),
			Placement: Placement{HostSelector: map[string]string{"rack": "r1"}},
			Template: Template{
				CPU: CPU{Sockets: 2, Cores: 4, Threads: 2, Model: "host-model",
					Features: []CPUFeature{{Name: "vmx", Policy: "disable"}, {Name: "avx", Policy: "require"}}},
				Memory: 2 << 30, Machine: Machine{Type: "pc-q35-7.2"},
				Firmware:   Firmware{Type: FirmwareUEFI, UUID: "4dea22b3-1d52-d8f3-2516-782e98ab3fa1"},
				KernelBoot: &KernelBoot{Kernel: "/boot/vmlinuz", Initrd: "/boot/initrd", Cmdline: "console=ttyS0"},
				Disks: []Disk{{Name: "root", Pool: "shared", Volume: "db1.qcow2", Format: FormatQcow2, Bus: BusVirtio, BootOrder: 1},
					{Name: "data", Path: "/dev/vg/db1", Format: FormatRaw, Bus: BusSCSI, Shareable: true}},
				CDROMs:    []CDROM{{Name: "cd", Pool: "iso", Volume: "debian.iso", BootOrder: 2}},
				NICs:      []NIC{{Name: "lan", Network: "default", MAC: "52:54:00:12:34:56", Model: "virtio", BootOrder: 3}, {Name: "dmz", Bridge: "br0", Model: "e1000e"}},
				CloudInit: &CloudInit{Pool: "shared", UserData: "#cloud-config\n"},
				RNG:       &no, PanicDevice: &yes, GuestAgent: &yes, SerialLog: &SerialLog{Path: "/var/log/db1.log"},
			},
		},
	}
	if !reflect.DeepEqual(docs[0].Object, want) {
		t.Errorf("got  %+v\nwant %+v", docs[0].Object, want)
	}
	if docs[0].File != "full.yaml" || docs[0].Line != 2 {
		t.Errorf("document is at %s:%d", docs[0].File, docs[0].Line)
	}
	for _, c := range []struct {
		path   string
		wrote  bool
		line   int
		column int
	}{
		{"spec.template.disks[1].path", true, 31, 26}, {"spec.template.disks[1].format", false, 31, 7},
		{"spec.template.guestAgent", false, 24, 5}, {"metadata.labels[example.com/tier]", true, 7, 39}, {"nonsense", false, 2, 1},
	} {
		line, column := docs[0].Position(c.path)
		if docs[0].Wrote(c.path) != c.wrote || line != c.line || column != c.column {
			t.Errorf("%s: wrote %v, at %d:%d; want %v, %d:%d", c.path, docs[0].Wrote(c.path), line, column, c.wrote, c.line, c.column)
		}
	}
}

func TestDecodeSeveralDocuments(t *testing.T) {
	docs, err := Decoder{Namespace: "lab"}.Decode([]byte(`---
---
# only a comment
---
apiVersion: holdfast/v1
kind: Host
metadata: {name: h1}
spec: {uri: "qemu:///system", cpuOvercommit: 2, reserved: {memory: 1024, cpus: 1}}
...
---
apiVersion: holdfast/v1
kind: ClusterConfig
spec: {startLimit: {cluster: 10}}
---
apiVersion: holdfast/v1
kind: VirtualMachine
metadata: {name: a}
spec: {template: {memory: 64Mi}}
---
apiVersion: holdfast/v1
kind: VirtualMachine
metadata: {name: a, namespace: prod}
spec: {template: {memory: 64Mi}}
---
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range docs {
		got = append(got, fmt.Sprintf("%d %s", d.Line, RefTo(d.Object)))
	}
	want := "5 Host h1\n11 ClusterConfig cluster\n15 VirtualMachine lab/a\n20 VirtualMachine prod/a"
	if strings.Join(got, "\n") != want {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
	}
	h := docs[0].Object.(*Host).Spec
	if h.CPUOvercommit != 2 || h.Reserved.Memory != 1024 || h.Reserved.CPUs != 1 {
		t.Errorf("host: %+v", h)
	}
	for _, empty := range []string{"", "\n", "# nothing\n", "---\n---\n"} {
		if docs, err := DecodeManifests("", []byte(empty)); len(docs) != 0 || err != nil {
			t.Errorf("%q: %v, %v", empty, docs, err)
		}
	}
}

// Each run strategy there is can be written, and each VM has one, however it is spelled.
func TestDecodeRunStrategies(t *testing.T) {
	for line, want := range map[string]RunStrategy{
		"runStrategy: Always": RunAlways, "runStrategy: RerunOnFailure": RunRerunOnFailure, "runStrategy: Manual": RunManual,
		"runStrategy: Once": RunOnce, "runStrategy: Halted": RunHalted,
		"running: true": RunAlways, "running: false": RunHalted, "startTimeout: 1m": RunAlways,
	} {
		docs, err := DecodeManifests("", []byte("apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec: {"+line+", template: {memory: 64Mi}}\n"))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := docs[0].Object.(*VirtualMachine).Spec.EffectiveRunStrategy(); got != want {
			t.Errorf("%s is %s, want %s", line, got, want)
		}
	}
}

func TestDecodeJSON(t *testing.T) {
	docs, err := DecodeManifests("", []byte("\ufeff\n"+`{"apiVersion": "holdfast/v1", "kind": "VirtualMachine",
		"metadata": {"name": "a", "annotations": {"\u0061\/": "\ud83d\ude00"}, "labels": null},
		"spec": {"template": {"memory": 1073741824, "rng": false}}}`))
	if err == nil || err.Error() != `line 3:57: metadata.annotations[a/]: "a/" is not a key: `+labelRemedy+`, and before it an optional domain and '/'` {
		t.Errorf("%v, %v", docs, err)
	}
	docs, err = DecodeManifests("", []byte(`{"apiVersion": "holdfast/v1", "kind": "VirtualMachine",
		"metadata": {"name": "a", "annotations": {"\u0061": "\ud83d\ude00"}, "labels": null},
		"spec": {"template": {"memory": 1073741824, "rng": false}}}`))
	if err != nil {
		t.Fatal(err)
	}
	vm := docs[0].Object.(*VirtualMachine)
	if vm.Metadata.Annotations["a"] != "😀" || vm.Spec.Template.Memory != 1<<30 || *vm.Spec.Template.RNG || vm.Metadata.Labels != nil {
		t.Errorf("%+v", vm)
	}
	_, err = DecodeManifests("vm.json", []byte("{\"apiVersion\": \"holdfast/v1\",\n \"kind\": \"Host\",\n \"metadata\": {\"name\": 7},\n \"spec\": {\"url\": \"x\"}}"))
	want := "vm.json:3:23: metadata.name: this is the number 7 where text is needed: put it in quotes: \"7\"\n" +
		"vm.json:4:11: spec.url: unknown field \"url\": did you mean \"uri\"?"
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

func TestDecodeAnchors(t *testing.T) {
	docs, err := DecodeManifests("", []byte(`apiVersion: holdfast/v1
kind: VirtualMachine
metadata: {name: a, labels: &l {app: x}, annotations: {<<: *l, app: y, more: z}}
spec:
  placement: {hostSelector: *l}
  template:
    memory: 64Mi
    disks:
    - &d {name: one, pool: p, volume: one}
    - {<<: *d, name: two, volume: two}
    - {<<: [{name: three, volume: three}, *d]}
`))
	if err != nil {
		t.Fatal(err)
	}
	vm := docs[0].Object.(*VirtualMachine)
	if got := fmt.Sprint(vm.Metadata.Annotations, vm.Spec.Placement.HostSelector); got != "map[app:y more:z] map[app:x]" {
		t.Error(got)
	}
	for i, name := range []string{"one", "two", "three"} {
		if d := vm.Spec.Template.Disks[i]; d.Name != name || d.Volume != name || d.Pool != "p" {
			t.Errorf("disk %d: %+v", i, d)
		}
	}
}

// What eats machines is refused, soon.
func TestDecodeBombs(t *testing.T) {
	head := "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec:\n  template:\n    memory: 1Gi\n"
	many := strings.Repeat("*a,", 10_000)
	fields := ""
	for i := range 1000 {
		fields += fmt.Sprintf("f%d: x, ", i)
	}
	laughs := "metadata:\n  name: a\n  annotations: &a0 {a: b}\n"
	for i := range 40 {
		laughs += fmt.Sprintf("x%d: &a%d {<<: [*a%d, *a%d]}\n", i, i+1, i, i)
	}
	for name, c := range map[string]struct{ in, want string }{
		"aliases": {"apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: a, labels: &a {" + fields + "}, annotations: {<<: [" + many + "]}}\n",
			"the file is too large when its aliases are written out"},
		"long list":     {head + "    disks: [&a {name: x, pool: p, volume: v}, " + many + "]\n", "the list has 10001 elements: keep it within 1000"},
		"wrong aliases": {head + "    disks: [&a {" + fields + "}" + strings.Repeat(", *a", 900) + "]\n", "and more problems after these"},
		"laughs":        {"apiVersion: holdfast/v1\nkind: VirtualMachine\n" + laughs + "spec: {<<: *a40}\n", `"<<" is nested too deeply`},
		"itself":        {head + "    cpu: &a {<<: *a}\n", `"<<" is nested too deeply`},
		"deep":          {strings.Repeat("[", 20_000), "exceeded max depth"},
		"deep JSON":     {`{"a":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}", `apiVersion: missing`},
		"large":         {strings.Repeat("#", MaxManifestSize+1), "the file has 8388609 bytes, more than the 8388608 that are read: split it into several files"},
	} {
		_, err := DecodeManifests("", []byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			text := fmt.Sprint(err)
			t.Errorf("%s: error %.300s\nwant %s", name, text, c.want)
		}
	}
	_, err := DecodeManifests("", []byte(head+"    disks: ["+strings.Repeat("{},", 1000)+"]\n"))
	if n := len(err.(ManifestErrors)); n != maxProblems+1 && n != maxProblems {
		t.Errorf("%d problems are reported", n)
	}
}

// Several files are one manifest, but each error has the file and the line that its author sees.
func TestDecodeFiles(t *testing.T) {
	vm := func(name, more string) string {
		return "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: " + name + "}\nspec: {template: {memory: 64Mi" + more + "}}\n"
	}
	file := func(name, text string) ManifestFile { return ManifestFile{Name: name, Data: []byte(text)} }
	docs, err := Decoder{Namespace: "prod"}.DecodeFiles(file("a", "# nothing yet\n"), file("b", vm("one", "")),
		file("c.json", `{"apiVersion": "holdfast/v1", "kind": "Host", "metadata": {"name": "h"}, "spec": {"uri": "qemu:///system"}}`), file("d", "---\n"+vm("two", "")))
	var got []string
	for _, d := range docs {
		got = append(got, fmt.Sprintf("%s:%d %s", d.File, d.Line, RefTo(d.Object)))
	}
	if want := "b:1 VirtualMachine prod/one, c.json:1 Host h, d:2 VirtualMachine prod/two"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("got %s, %v\nwant %s", strings.Join(got, ", "), err, want)
	}
	docs, err = Decoder{}.DecodeFiles(file("a", vm("one", "")), file("b", "\n"+vm("two", ", rgn: true")), file("c", "a: [\n"), file("d", vm("one", "")))
	want := `b:5:33: spec.template.rgn: unknown field "rgn": did you mean "rng"?
c:1:1: not YAML: did not find expected node content: correct the YAML here or in the lines above
d:3:18: metadata.name: VirtualMachine default/one is already in a, at line 1: rename or remove one of the two`
	if docs != nil || err == nil || err.Error() != want {
		t.Errorf("%d documents, and\n%v\nwant\n%s", len(docs), err, want)
	}
	var many []ManifestFile
	for range 1000 {
		many = append(many, file("f", "a: b\n"))
	}
	var all ManifestErrors
	if _, err := (Decoder{}).DecodeFiles(many...); !errors.As(err, &all) || len(all) > maxProblems+2 {
		t.Errorf("%d problems are reported, which is more than helps", len(all))
	}
}
