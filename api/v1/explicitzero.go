package v1

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ownDefault are the fields whose zero means "the default", by kind, with the remedy for who writes a zero and would get something
// else. Whoever wants none at all, or no limit, must learn that a zero does not say so. (Zero disks, a boot order of zero or nothing
// reserved are what they look like, and are not here.)
var ownDefault = map[string]map[string]string{
	KindVirtualMachine: {
		"spec.startTimeout":         "leave it out for the cluster's default (5m), or write how long a launch may take",
		"spec.stopGracePeriod":      "leave it out for the cluster's default (2m); to switch a VM off at once, stop it with --force",
		"spec.template.cpu.sockets": "leave it out for 1",
		"spec.template.cpu.cores":   "leave it out for 1",
		"spec.template.cpu.threads": "leave it out for 1",
	},
	KindHost: {
		"spec.cpuOvercommit": "leave it out for the default, 4; 1 promises no CPU twice",
		"spec.startLimit":    "leave it out for the cluster's limit per host; to start nothing on this host, cordon it",
	},
	KindClusterConfig: {
		"spec.startLimit.cluster":     "leave it out for the default, 100; to start nothing, cordon the hosts",
		"spec.startLimit.perHost":     "leave it out for the default, 4; to start nothing on a host, cordon it",
		"spec.startTimeout":           "leave it out for the default, 5m, or write how long a launch may take",
		"spec.stopGracePeriod":        "leave it out for the default, 2m; to switch a VM off at once, stop it with --force",
		"spec.crashLoop.initialDelay": "leave it out for the default, 10s; for next to no delay write 1ms",
		"spec.crashLoop.maxDelay":     "leave it out for the default, 5m; for next to no delay write 1ms",
		"spec.crashLoop.minUptime":    "leave it out for the default, 1m; to count hardly any run as a failure write 1ms",
	},
}

// explicitZeros finds zeros that were written where a zero is taken for the default. It looks before the defaults are set.
func (d *docDecoder) explicitZeros(o Object) {
	remedies := ownDefault[o.GetTypeMeta().Kind]
	for _, path := range slices.Sorted(maps.Keys(remedies)) {
		at, written := d.written[path]
		if written && !d.complained(path) && fieldAt(valueOf(o), path).IsZero() {
			d.problemAt(at, path, "zero is not possible here: it would mean the default", remedies[path])
		}
	}
}

// fieldAt is the field of a struct that a path without lists and pointers names.
func fieldAt(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		v = v.FieldByIndex(fieldsOf(v.Type())[name])
	}
	return v
}
