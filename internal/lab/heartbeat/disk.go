package heartbeat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	sectorSize = 512
	magic      = "HFBEAT1"
)

// ReadDisk reads a raw disk image of a test guest, which may be running.
func ReadDisk(path string) (Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return Log{}, fmt.Errorf("read heartbeats: %w", err)
	}
	defer f.Close()
	l, err := ParseDisk(f)
	if err != nil {
		return Log{}, fmt.Errorf("read heartbeats from %s: %w", path, err)
	}
	return l, nil
}

// ParseDisk reads the records up to the first empty sector. A sector with anything else in it is an error.
func ParseDisk(r io.Reader) (Log, error) {
	var l Log
	sector := make([]byte, sectorSize)
	var writer string // of the record before
	for i := 0; ; i++ {
		if _, err := io.ReadFull(r, sector); errors.Is(err, io.EOF) {
			return l, nil
		} else if err != nil {
			return Log{}, fmt.Errorf("sector %d: %w", i, err)
		}
		text := string(bytes.TrimRight(sector, "\x00 \n"))
		if text == "" {
			return l, nil
		}
		rec, err := parseRecord(text)
		if err != nil {
			return Log{}, fmt.Errorf("sector %d: %w", i, err)
		}
		known := len(l.Boots)
		b := l.boot(rec.boot, rec.vm)
		b.Up = true
		if rec.conflict != "" {
			l.Conflicts = append(l.Conflicts, Conflict{Where: i, Boot: rec.boot, Other: rec.conflict, Seen: true})
		} else {
			b.beat(rec.number, rec.at)
		}
		if writer != "" && writer != rec.boot && len(l.Boots) == known {
			l.Conflicts = append(l.Conflicts, Conflict{Where: i, Boot: rec.boot, Other: writer})
		}
		writer = rec.boot
	}
}

type record struct {
	boot, vm string
	number   int
	at       time.Time
	// conflict is the other boot, in a record of a conflict.
	conflict string
}

func parseRecord(text string) (record, error) {
	words := strings.Fields(text)
	if words[0] != magic {
		return record{}, fmt.Errorf("not a heartbeat: %.40q", text)
	}
	var rec record
	var errs []error
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "boot":
			rec.boot = value
		case "vm":
			rec.vm = value
		case "conflict":
			rec.conflict = value
		case "n":
			n, err := strconv.Atoi(value)
			rec.number, errs = n, append(errs, err)
		case "t":
			t, err := strconv.ParseInt(value, 10, 64)
			rec.at, errs = time.Unix(t, 0).UTC(), append(errs, err)
		}
	}
	if rec.boot == "" {
		errs = append(errs, errors.New("no boot id"))
	}
	if err := errors.Join(errs...); err != nil {
		return record{}, fmt.Errorf("bad heartbeat %q: %w", text, err)
	}
	return rec, nil
}
