package heartbeat

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Serial is what a serial log tells besides heartbeats.
type Serial struct {
	Log
	// NICs are the MAC addresses of the guest's network cards, as it saw them at its last boot, in its order.
	NICs []string
	// Seed maps the files of cloud-init's seed to the SHA-256 of their content, in hex; empty when there was no seed.
	Seed map[string]string
	// Machine is what the guest said of itself: "cpus", "memory" (KiB, what its kernel has), "firmware" (bios or uefi), "rng".
	Machine map[string]string
	// Disks are the guest's virtio disks by name: "bytes", "ro" (0 or 1), "serial".
	Disks map[string]map[string]string
	// Ports are the names of the guest's virtio ports, as of a guest agent's channel.
	Ports []string
}

// ReadSerial reads the serial log of a test guest, which may be running.
func ReadSerial(path string) (Serial, error) {
	f, err := os.Open(path)
	if err != nil {
		return Serial{}, fmt.Errorf("read heartbeats: %w", err)
	}
	defer f.Close()
	s, err := ParseSerial(f)
	if err != nil {
		return Serial{}, fmt.Errorf("read heartbeats from %s: %w", path, err)
	}
	return s, nil
}

// ParseSerial reads a serial log. Lines that are not the guest's, such as firmware's and the kernel's, are passed over, and so
// is a last line that is not finished yet.
func ParseSerial(r io.Reader) (Serial, error) {
	var s Serial
	in := bufio.NewReader(r)
	for i := 0; ; i++ {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			return s, nil
		}
		if err != nil {
			return Serial{}, err
		}
		s.line(i, strings.Fields(line))
	}
}

func (s *Serial) line(i int, words []string) {
	if len(words) < 3 {
		return
	}
	if words[0] == "tick" {
		var n int
		if _, err := fmt.Sscan(words[1], &n); err == nil {
			id := strings.TrimPrefix(words[2], "boot=")
			s.boot(id, "").beat(n, time.Time{})
		}
		return
	}
	if words[0] != "holdfast-guest" {
		return
	}
	said := pairs(words[1:])
	switch what := words[1]; {
	case what == "machine":
		// The first thing that a boot says.
		*s = Serial{Log: s.Log, Machine: said}
	case what == "nic":
		s.NICs = append(s.NICs, said["mac"])
	case what == "disk" && said["bytes"] != "":
		put(&s.Disks, words[2], said)
	case what == "seed":
		put(&s.Seed, words[2], said["sha256"])
	case what == "port":
		s.Ports = append(s.Ports, words[2])
	case said["boot"] == "" || len(words) < 3:
	case words[2] == "CONFLICT":
		s.Conflicts = append(s.Conflicts, Conflict{Where: i, Boot: said["boot"], Other: said["other"], Seen: true})
	case words[len(words)-1] == "up":
		s.boot(said["boot"], said["vm"]).Up = true
	default:
		s.boot(said["boot"], "").Ended = words[2]
	}
}

// pairs are the words of the form key=value.
func pairs(words []string) map[string]string {
	m := map[string]string{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			m[k] = v
		}
	}
	return m
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}
