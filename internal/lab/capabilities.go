package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// What QEMU can do takes libvirtd seconds to find out, by starting QEMU several times. libvirt keeps the answers in files and
// checks on its own whether they still hold (versions, kernel, CPU, KVM), so a copy of another host's files is as good.

func knownCapabilities(cache string) string { return filepath.Join(cache, "qemu-capabilities") }

func hostCapabilities(hostDir string) string {
	return filepath.Join(private(hostDir, "/var/cache/libvirt"), "qemu", "capabilities")
}

func knowsCapabilities(cache string) bool {
	files, err := filepath.Glob(filepath.Join(knownCapabilities(cache), "*.xml"))
	return err == nil && len(files) > 0
}

// learnCapabilities makes a host find out what QEMU can do, and keeps that in the cache.
func (l *Lab) learnCapabilities(ctx context.Context, h hostState, cache string) error {
	if err := askCapabilities(ctx, address(l.state.Number, h.Index)); err != nil {
		return fmt.Errorf("ask host %s what QEMU can do: %w", h.Name, err)
	}
	return copyCapabilities(hostCapabilities(l.hostDir(h.Name)), knownCapabilities(cache))
}

// giveCapabilities copies what is known into a host.
func giveCapabilities(cache, hostDir string) error {
	return copyCapabilities(knownCapabilities(cache), hostCapabilities(hostDir))
}

func copyCapabilities(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.xml"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("copy QEMU's capabilities: %w", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = atomicWrite(filepath.Join(to, filepath.Base(f)), data)
		}
		if err != nil {
			return fmt.Errorf("copy QEMU's capabilities: %w", err)
		}
	}
	return nil
}
