package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Accelerators.
const (
	kvm = "kvm"
	tcg = "tcg"
)

// What the probe guest may take. Where KVM works it takes a fifth of a second of CPU time; where KVM is there in name only (a
// nested one that hangs or crawls) it takes several seconds, if it ends at all. CPU time tells, since a machine that has much
// else to do is slow with working KVM too.
const (
	kvmProbeCPU  = 1500 * time.Millisecond
	kvmProbeTime = 20 * time.Second
)

// probeGuest is a boot sector that ends QEMU with exit status probeExit through the isa-debug-exit device.
//
//	mov al, 0x10; out 0xf4, al; hlt; jmp -3
var probeGuest = []byte{0xb0, 0x10, 0xe6, 0xf4, 0xf4, 0xeb, 0xfd}

const probeExit = 0x10<<1 | 1

// probeKVM boots the smallest guest there is – firmware and a boot sector – and says which accelerator guests can use. That
// /dev/kvm is there, and that QEMU calls KVM enabled, proves nothing. The answer is kept in cache for this boot of the machine.
func probeKVM(ctx context.Context, cache string) (string, error) {
	if _, err := os.Stat("/dev/kvm"); errors.Is(err, os.ErrNotExist) {
		return tcg, nil
	}
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("probe KVM: %w", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("probe KVM: %w", err)
	}
	answer := filepath.Join(cache, "accelerator-"+strings.TrimSpace(string(bootID)))
	if known, err := os.ReadFile(answer); err == nil {
		return string(known), nil
	}
	accelerator := tcg
	works, err := bootsWithKVM(ctx)
	if err != nil {
		return "", fmt.Errorf("probe KVM: %w", err)
	}
	if works {
		accelerator = kvm
	}
	return accelerator, atomicWrite(answer, []byte(accelerator))
}

func bootsWithKVM(ctx context.Context) (bool, error) {
	disk, err := os.CreateTemp("", "holdfast-kvm-probe-*.img")
	if err != nil {
		return false, err
	}
	defer os.Remove(disk.Name())
	defer disk.Close()
	const floppy = 1440 * 1024
	if _, err := disk.Write(slices.Concat(probeGuest, make([]byte, 510-len(probeGuest)), []byte{0x55, 0xaa})); err != nil {
		return false, err
	}
	if err := disk.Truncate(floppy); err != nil {
		return false, err
	}
	cmd := exec.Command("qemu-system-x86_64", "-accel", "kvm", "-machine", "pc", "-m", "16", "-nodefaults", "-no-user-config",
		"-display", "none", "-drive", "file="+disk.Name()+",format=raw,if=floppy,readonly=on", "-boot", "a",
		"-device", "isa-debug-exit,iobase=0xf4,iosize=1")
	if err := cmd.Start(); err != nil {
		return false, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	for deadline := time.Now().Add(kvmProbeTime); time.Now().Before(deadline) && cpuTime(cmd.Process.Pid) < kvmProbeCPU; {
		select {
		case <-ended:
			return cmd.ProcessState.ExitCode() == probeExit, nil
		case <-time.After(20 * time.Millisecond):
		}
		if ctx.Err() != nil {
			break
		}
	}
	// Where KVM is broken the kernel may take seconds to let it go; that is not waited for.
	_ = cmd.Process.Kill()
	return false, ctx.Err()
}
