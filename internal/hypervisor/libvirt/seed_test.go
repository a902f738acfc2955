package libvirt

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

func TestSeedImage(t *testing.T) {
	m := goldenMachine(v1.Template{CloudInit: &v1.CloudInit{
		Pool: "p", UserData: "#cloud-config\nhostname: web\n", NetworkData: "version: 2\n",
	}})
	m.Name = "web.prod"
	image, err := seedImage(seedFiles(m))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "seed.iso")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fs, err := iso9660.Read(file.New(f, true), 0, 0, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"meta-data":      "instance-id: \"" + m.VMUID + "\"\nlocal-hostname: \"web\"\n",
		"user-data":      "#cloud-config\nhostname: web\n",
		"network-config": "version: 2\n",
	} {
		got, err := fs.ReadFile(name)
		if err != nil || string(bytes.TrimRight(got, "\x00")) != want {
			t.Errorf("%s holds %q (error %v), want %q", name, got, err, want)
		}
	}
	// The primary volume descriptor is sector 16; the label is at its offset 40.
	if got := string(image[16*2048+40 : 16*2048+46]); got != seedLabel {
		t.Errorf("the label is %q, want %q", got, seedLabel)
	}
}

func TestSeedWithoutNetwork(t *testing.T) {
	files := seedFiles(goldenMachine(v1.Template{CloudInit: &v1.CloudInit{Pool: "p"}}))
	if _, there := files["network-config"]; there {
		t.Error("an empty network-config would turn the guest's network off")
	}
	if _, there := files["user-data"]; !there {
		t.Error("cloud-init takes a seed without user-data for none")
	}
}

func TestIsSeedOf(t *testing.T) {
	m := goldenMachine(v1.Template{})
	dotted := m
	dotted.Name = m.Name + "." + m.VMUID[:8] + ".x"
	other := m
	other.VMUID = "33333333-3333-4333-8333-333333333333"
	for volume, want := range map[string]bool{
		seedName(m): true, seedName(dotted): false, seedName(other): false,
		m.DomainName() + ".img": false, m.DomainName() + ".seed.iso": false, "x" + seedName(m): false,
	} {
		if got := isSeedOf(m.DomainName(), volume); got != want {
			t.Errorf("%s is a seed of %s: %v, want %v", volume, m.DomainName(), got, want)
		}
	}
}
