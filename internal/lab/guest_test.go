package lab_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/digitalocean/go-libvirt"

	"github.com/holdfast-vm/holdfast/internal/lab"
	"github.com/holdfast-vm/holdfast/internal/lab/labtest"
)

// TestGuestThroughFaults follows one guest through all that a lab can do to its host. The steps build on each other.
func TestGuestThroughFaults(t *testing.T) {
	l := labtest.Shared(t, 2)
	files := labtest.Guest(t)
	one, two := host(t, l, "host1"), host(t, l, "host2")
	g := startGuest(t, l, files, one, "faults", "")
	boot := g.beats(1)

	t.Run("the guest says what it is made of", func(t *testing.T) {
		s := g.serial()
		if len(s.NICs) != 1 || s.NICs[0] != guestMAC {
			t.Errorf("network cards %v, want %s", s.NICs, guestMAC)
		}
		sum := sha256.Sum256([]byte(seedText))
		if want := hex.EncodeToString(sum[:]); s.Seed["user-data"] != want {
			t.Errorf("seed %v, want user-data with %s", s.Seed, want)
		}
		if s.Machine["cpus"] != "1" || s.Machine["firmware"] != "bios" || !strings.HasPrefix(s.Machine["rng"], "virtio") {
			t.Errorf("machine %v", s.Machine)
		}
		if s.Disks["vda"]["serial"] != "heartbeat" || s.Disks["vda"]["bytes"] != "1048576" {
			t.Errorf("disks %v", s.Disks)
		}
		if len(s.Ports) != 1 || s.Ports[0] != "org.qemu.guest_agent.0" {
			t.Errorf("ports %v", s.Ports)
		}
		if b := last(s.Log); b.VM != g.uuid || b.ID != boot || !b.Up {
			t.Errorf("on its serial line it is %+v, want VM %s in boot %s", b, g.uuid, boot)
		}
	})
	t.Run("freeze and thaw", func(t *testing.T) {
		if err := l.Freeze("host1"); err != nil {
			t.Fatal(err)
		}
		is(t, l, "host1", lab.Frozen)
		if answers(t.Context(), one) {
			t.Error("a frozen libvirtd answers")
		}
		g.beats(1)
		if err := l.Thaw("host1"); err != nil {
			t.Fatal(err)
		}
		is(t, l, "host1", lab.On)
		eventually(t, "a thawed libvirtd answers", func() bool { return answers(t.Context(), one) })
	})
	t.Run("unplug and plug", func(t *testing.T) {
		if err := l.Unplug(t.Context(), "host1"); err != nil {
			t.Fatal(err)
		}
		is(t, l, "host1", lab.Unplugged)
		if answers(t.Context(), one) {
			t.Error("an unplugged host answers")
		}
		g.beats(1)
		if err := l.Plug(t.Context(), "host1"); err != nil {
			t.Fatal(err)
		}
		is(t, l, "host1", lab.On)
		eventually(t, "a plugged host answers", func() bool { return answers(t.Context(), one) })
	})
	t.Run("libvirtd starts anew, even when frozen", func(t *testing.T) {
		if err := l.Freeze("host1"); err != nil {
			t.Fatal(err)
		}
		if err := l.RestartLibvirtd(t.Context(), "host1"); err != nil {
			t.Fatal(err)
		}
		if s, _ := g.state(one); s != libvirt.DomainRunning {
			t.Errorf("the guest's state is %v", s)
		}
		g.beats(1)
	})
	t.Run("live migration", func(t *testing.T) {
		flags := libvirt.MigrateLive | libvirt.MigratePeer2peer | libvirt.MigratePersistDest | libvirt.MigrateUndefineSource |
			libvirt.MigrateAbortOnError | libvirt.MigrateUnsafe
		_, err := connect(t, one).DomainMigratePerform3Params(g.domain, libvirt.OptString{two.URI}, nil, nil, flags)
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := g.state(two); s != libvirt.DomainRunning {
			t.Errorf("the guest's state on its new host is %v", s)
		}
		if got := g.beats(1); got != boot {
			t.Errorf("the guest is in boot %s after the migration, was in %s", got, boot)
		}
	})
	t.Run("QEMU is killed", func(t *testing.T) {
		if err := l.KillQEMU("host1", g.uuid, syscall.SIGKILL); err == nil {
			t.Error("there is a QEMU on the host that the guest left")
		}
		if err := l.KillQEMU("host2", g.uuid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the guest is off", func() bool { return g.off(two) })
		if _, reason := g.state(two); reason != int32(libvirt.DomainShutoffCrashed) {
			t.Errorf("the reason is %v, want crashed", reason)
		}
		g.start(two)
		g.beats(2)
	})
	t.Run("power cut and power on", func(t *testing.T) {
		before := host(t, l, "host2")
		for range 2 {
			if err := l.PowerOff(t.Context(), "host2"); err != nil {
				t.Fatal(err)
			}
			is(t, l, "host2", lab.Off)
		}
		if _, err := os.Stat(l.Shared()); err != nil {
			t.Error(err)
		}
		if err := l.Freeze("host2"); err == nil || !strings.Contains(err.Error(), "power-on host2") {
			t.Errorf("freeze a host that is off: %v", err)
		}
		for range 2 {
			if err := l.PowerOn(t.Context(), "host2"); err != nil {
				t.Fatal(err)
			}
		}
		after := host(t, l, "host2")
		if after.State != lab.On || after.BootID == "" || after.BootID == before.BootID || after.UUID != before.UUID {
			t.Errorf("the host is %+v, was %+v", after, before)
		}
		if !g.off(two) {
			t.Error("the guest's definition should be there, and the guest off")
		}
		g.start(two)
		g.beats(3)
	})
	t.Run("the power button", func(t *testing.T) {
		if err := connect(t, two).DomainShutdown(g.domain); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the guest has shut itself down", func() bool { return g.off(two) })
		if ended := last(g.serial().Log).Ended; ended != "off" {
			t.Errorf("the guest says %q, want off", ended)
		}
	})
	if c := g.disk().Conflicts; len(c) > 0 {
		t.Errorf("two writers where there was one: %v", c)
	}
}

// TestGuestsDoAsTold runs one guest for each thing that the kernel command line can ask for.
func TestGuestsDoAsTold(t *testing.T) {
	l := labtest.Shared(t, 2)
	files := labtest.Guest(t)
	h := host(t, l, "host1")
	off := startGuest(t, l, files, h, "off", "hf.off=1")
	panics := startGuest(t, l, files, h, "panics", "hf.panic=1 hf.boot-delay=1")
	reboots := startGuest(t, l, files, h, "reboots", "hf.reboot=1")
	deaf := startGuest(t, l, files, h, "deaf", "hf.acpi=ignore")
	stuck := startGuest(t, l, files, h, "stuck", "hf.mode=stuck")

	eventually(t, "a guest powers itself off", func() bool { return off.off(h) })
	if _, reason := off.state(h); reason != int32(libvirt.DomainShutoffShutdown) {
		t.Errorf("reason %v, want shutdown", reason)
	}
	eventually(t, "a guest panics", func() bool { return panics.off(h) })
	if _, reason := panics.state(h); reason != int32(libvirt.DomainShutoffCrashed) {
		t.Errorf("reason %v, want crashed", reason)
	}
	eventually(t, "a guest reboots", func() bool { return len(reboots.disk().Boots) >= 2 })
	deaf.beats(1)
	if err := connect(t, h).DomainShutdown(deaf.domain); err != nil {
		t.Fatal(err)
	}
	deaf.beats(1)
	deaf.beats(1)
	if b := last(stuck.serial().Log); b.Up || len(stuck.disk().Boots) > 0 {
		t.Errorf("a stuck guest says that it is up: %+v", b)
	}
	if stuck.serial().Machine == nil {
		t.Error("a stuck guest did not even boot")
	}
}

func TestSecondWriterIsSeen(t *testing.T) {
	l := labtest.Shared(t, 2)
	files := labtest.Guest(t)
	one, two := host(t, l, "host1"), host(t, l, "host2")
	g := startGuest(t, l, files, one, "twice", "")
	g.beats(1)
	other := &guest{t: t, name: "twice-again", uuid: g.uuid, serialPath: g.serialPath + "2", diskPath: g.diskPath}
	other.define(l, files, two, "")
	other.start(two)
	eventually(t, "the disk shows two writers", func() bool { return len(g.disk().Conflicts) > 1 })
	eventually(t, "a guest says so", func() bool {
		return len(g.serial().Conflicts)+len(other.serial().Conflicts) > 0
	})
}

func host(t *testing.T, l *lab.Lab, name string) lab.Host {
	t.Helper()
	h, err := l.Host(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func is(t *testing.T, l *lab.Lab, name string, want lab.HostState) {
	t.Helper()
	if h := host(t, l, name); h.State != want {
		t.Errorf("host %s is %s, want %s", name, h.State, want)
	}
}
