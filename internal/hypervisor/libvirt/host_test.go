package libvirt

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/conformance"
	"github.com/holdfast-vm/holdfast/internal/lab"
)

var theLab *lab.Lab

func TestMain(m *testing.M) {
	dir, _ := os.MkdirTemp("", "hflvt")
	l, err := lab.Up(context.Background(), lab.Options{Dir: filepath.Join(dir, "lab"), Hosts: 1, Cache: "/tmp/hflv/cache"})
	if err != nil {
		panic(err)
	}
	theLab = l
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Println(err)
		code = 1
	}
	_ = l.Down(context.Background())
	os.RemoveAll(dir)
	os.Exit(code)
}

func guestMachine(cmdline string) hypervisor.Machine {
	uid := uuid.NewString()
	return hypervisor.Machine{
		ClusterUID: "0d9f7ab0-7a5c-4a3c-9f0e-1f3a0f6c7b11", VMUID: uid, Namespace: "default", Name: "guest",
		InstanceID: "i-" + uid[:8], MachineType: "pc-q35-7.2", CPUModel: "qemu64",
		Template: v1.Template{
			Memory: 96 << 20,
			KernelBoot: &v1.KernelBoot{
				Kernel: guestDir() + "/vmlinuz", Initrd: guestDir() + "/initrd", Cmdline: "console=ttyS0 quiet panic=5 " + cmdline,
			},
			SerialLog: &v1.SerialLog{Path: filepath.Join(theLab.Shared(), uid+".serial")},
		},
	}
}

func guestDir() string { d, _ := filepath.Abs("../../../.cache/guest"); return d }

func TestConformance(t *testing.T) {
	hosts, _ := theLab.Hosts()
	h := hosts[0]
	u, _ := url.Parse(h.URI)
	p := newProxy(t, u.Hostname()+":16509")
	thaw := func() { _ = theLab.Thaw(h.Name) }
	conformance.Run(t, conformance.Fixture{
		Driver: Driver{}, URI: p.uri(),
		Machine: func(t *testing.T, g conformance.Guest) hypervisor.Machine {
			m := guestMachine(map[conformance.Guest]string{
				conformance.Deaf: "hf.acpi=ignore", conformance.PowersOff: "hf.off=0", conformance.Panics: "hf.panic=0",
			}[g])
			if g == conformance.Unstartable {
				m.Template.KernelBoot.Kernel = "/nowhere/vmlinuz"
			}
			return m
		},
		Foreign: func(t *testing.T) string { return startForeign(t, h.URI) },
		Freeze: func(t *testing.T) func() {
			if err := theLab.Freeze(h.Name); err != nil {
				t.Fatal(err)
			}
			return thaw
		},
		FreezeAtCreate: func(t *testing.T) func() {
			p.beforeCreate(func() { _ = theLab.Freeze(h.Name) })
			return thaw
		},
		Cut:      func(t *testing.T) { p.cut() },
		Patience: 30 * time.Second,
	})
}

func connect(t *testing.T, uri string) *conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := Driver{}.Connect(ctx, uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*conn)
}
