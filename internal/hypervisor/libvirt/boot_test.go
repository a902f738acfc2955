package libvirt

import (
	"slices"
	"syscall"
	"testing"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// TestBootIdentity: a boot is known by the marker where there is one, and by how long the CPUs have been counting.
func TestBootIdentity(t *testing.T) {
	s := newSite(t)
	facts, err := s.conn.Facts(t.Context())
	s.must("facts", err)
	if facts.BootID == "" || facts.BootID != s.host.BootID {
		t.Errorf("the boot is %q, want the host's own %q", facts.BootID, s.host.BootID)
	}
	if slices.Contains(facts.Pools, bootPool) {
		t.Errorf("the pools for VMs are %v, the marker among them", facts.Pools)
	}
	var machine syscall.Sysinfo_t
	s.must("ask for the machine's uptime", syscall.Sysinfo(&machine))
	// What a hypervisor below this machine steals is missing.
	if up := time.Duration(machine.Uptime) * time.Second; facts.Uptime < up/2 || facts.Uptime > up+up/100+2*time.Second {
		t.Errorf("the host is up for %s, and this machine, whose kernel it has, for %s", facts.Uptime, up)
	}

	s.pool("destroy")
	facts, err = s.conn.Facts(t.Context())
	s.must("facts without the marker", err)
	if facts.BootID != "" || facts.Uptime == 0 {
		t.Errorf("without the marker the boot is %q, up %s", facts.BootID, facts.Uptime)
	}
	s.pool("create")
	facts, err = s.conn.Facts(t.Context())
	s.must("facts with the marker again", err)
	if facts.BootID != s.host.BootID {
		t.Errorf("with the marker again the boot is %q, want %q", facts.BootID, s.host.BootID)
	}
}

// pool stops or starts the marker's pool.
func (s *site) pool(do string) {
	s.Helper()
	s.must(do+" the pool", s.conn.ask(s.Context(), do+" the pool", func(v *golibvirt.Libvirt) error {
		pool, err := v.StoragePoolLookupByName(bootPool)
		if err != nil {
			return err
		}
		if do == "destroy" {
			return v.StoragePoolDestroy(pool)
		}
		return v.StoragePoolCreate(pool, 0)
	}))
}
