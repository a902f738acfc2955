// Package layout says under which keys objects are stored and how they are encoded.
//
// It exists because three parties share the store: the registry writes specs and actions, the engine writes statuses, and both
// read the other's. Spec and status of an object are separate keys, so that each key has one writer.
//
//	/holdfast/spec/<kind>/…        what users want; the engine watches this prefix
//	/holdfast/status/<kind>/…      what the core decided
//	/holdfast/revision/<uid>/<gen> specs of older generations from which an instance may still be built
//	/holdfast/index/…              who owns a disk, a MAC address, a UUID: the rules across objects
//	/holdfast/event/…              news for people
//	/holdfast/leader/…             the election
package layout

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// The prefixes.
const (
	Root     = "/holdfast/"
	Spec     = Root + "spec/"
	Status   = Root + "status/"
	Revision = Root + "revision/"
	Index    = Root + "index/"
	Event    = Root + "event/"
	Leader   = Root + "leader/"
)

// Kinds as they stand in keys, in the order in which a term loads them.
const (
	Config = "config"
	Host   = "host"
	VM     = "vm"
	Action = "action"
)

// VMSpecKey and the others name the keys of one object.
func VMSpecKey(namespace, name string) string   { return Spec + VM + "/" + namespace + "/" + name }
func VMStatusKey(namespace, name string) string { return Status + VM + "/" + namespace + "/" + name }
func HostSpecKey(name string) string            { return Spec + Host + "/" + name }
func HostStatusKey(name string) string          { return Status + Host + "/" + name }
func ConfigSpecKey() string                     { return Spec + Config + "/" + v1.ClusterConfigName }
func ActionSpecKey(namespace, name string) string {
	return Spec + Action + "/" + namespace + "/" + name
}
func ActionStatusKey(namespace, name string) string {
	return Status + Action + "/" + namespace + "/" + name
}

// RevisionKey is where the spec of an older generation is kept. Generations sort as numbers.
func RevisionKey(uid string, generation int64) string {
	return fmt.Sprintf("%s%s/%016x", Revision, uid, generation)
}

// ParseRevisionKey is the inverse of RevisionKey.
func ParseRevisionKey(key string) (uid string, generation int64, ok bool) {
	uid, hex, found := strings.Cut(strings.TrimPrefix(key, Revision), "/")
	g, err := strconv.ParseInt(hex, 16, 64)
	return uid, g, found && err == nil
}

// NoNamespace stands in the keys of events about objects that have none.
const NoNamespace = "-"

// EventKey is where the one event of an object and a reason is kept.
func EventKey(o v1.ObjectRef, reason string) string {
	ns := o.Namespace
	if ns == "" {
		ns = NoNamespace
	}
	return Event + ns + "/" + o.Kind + "/" + o.Name + "/" + reason
}

// StatusOf is the value of a status key: the uid keeps a status from being taken for a successor's of the same name.
type StatusOf[S any] struct {
	UID    string `json:"uid"`
	Status S      `json:"status"`
}

// Encode is the JSON of any of our values; these types always encode.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("layout: " + err.Error())
	}
	return b
}

// EncodeVMSpec is the value of a VM's spec key: the object without its status.
func EncodeVMSpec(vm *v1.VirtualMachine) []byte {
	c := *vm
	c.Status, c.Metadata.ResourceVersion = v1.VirtualMachineStatus{}, ""
	return Encode(&c)
}

// DecodeVM joins a VM's spec key with its status key (nil or another VM's: no status yet).
func DecodeVM(spec store.KV, status *store.KV) (*v1.VirtualMachine, error) {
	vm := &v1.VirtualMachine{}
	err := join(spec, status, vm, &vm.Metadata, &vm.Status)
	return vm, err
}

// EncodeHostSpec is the value of a host's spec key.
func EncodeHostSpec(h *v1.Host) []byte {
	c := *h
	c.Status, c.Metadata.ResourceVersion = v1.HostStatus{}, ""
	return Encode(&c)
}

// DecodeHost joins a host's spec key with its status key (nil: none yet).
func DecodeHost(spec store.KV, status *store.KV) (*v1.Host, error) {
	h := &v1.Host{}
	err := join(spec, status, h, &h.Metadata, &h.Status)
	return h, err
}

// EncodeActionSpec is the value of an action's spec key.
func EncodeActionSpec(a *v1.Action) []byte {
	c := *a
	c.Status, c.Metadata.ResourceVersion = v1.ActionStatus{}, ""
	return Encode(&c)
}

// DecodeAction joins an action's spec key with its status key (nil: pending).
func DecodeAction(spec store.KV, status *store.KV) (*v1.Action, error) {
	a := &v1.Action{}
	err := join(spec, status, a, &a.Metadata, &a.Status)
	return a, err
}

// DecodeConfig reads the cluster configuration.
func DecodeConfig(spec store.KV) (*v1.ClusterConfig, error) {
	c := &v1.ClusterConfig{}
	err := join[struct{}](spec, nil, c, &c.Metadata, nil)
	return c, err
}

func join[S any](spec store.KV, status *store.KV, object any, meta *v1.ObjectMeta, into *S) error {
	if err := json.Unmarshal(spec.Value, object); err != nil {
		return fmt.Errorf("decode %s: %w", spec.Key, err)
	}
	rev := spec.ModRevision
	if status != nil {
		var s StatusOf[S]
		if err := json.Unmarshal(status.Value, &s); err != nil {
			return fmt.Errorf("decode %s: %w", status.Key, err)
		}
		if s.UID == meta.UID {
			*into, rev = s.Status, max(rev, status.ModRevision)
		}
	}
	meta.ResourceVersion = strconv.FormatInt(rev, 10)
	return nil
}
