package libvirt

import (
	"context"
	"fmt"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"
)

// startForeign starts a domain that somebody else made, without a guest worth the name.
func startForeign(t *testing.T, uri string) string {
	t.Helper()
	c := connect(t, uri)
	id := uuid.NewString()
	var dom golibvirt.Domain
	err := c.ask(t.Context(), "start a foreign domain", func(v *golibvirt.Libvirt) (err error) {
		dom, err = v.DomainCreateXML(fmt.Sprintf(`<domain type='qemu'><name>foreign-%s</name><uuid>%s</uuid>
			<memory unit='MiB'>64</memory><vcpu>2</vcpu><os><type arch='x86_64' machine='q35'>hvm</type></os>
			<devices><memballoon model='none'/></devices></domain>`, id, id), 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c := connect(t, uri)
		_ = c.ask(context.Background(), "end the foreign domain", func(v *golibvirt.Libvirt) error { return v.DomainDestroy(dom) })
	})
	return id
}
