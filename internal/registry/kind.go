package registry

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// kind is how the objects of one kind are kept.
type kind struct {
	name       string
	namespaced bool
	// specs and statuses are the prefixes of their keys; statuses is empty when they have none.
	specs, statuses string
	// decode joins an object's keys; status may be nil.
	decode func(spec store.KV, status *store.KV) (v1.Object, error)
	// blank is a new object.
	blank func() v1.Object
}

var (
	kindVM = &kind{v1.KindVirtualMachine, true, layout.Spec + layout.VM + "/", layout.Status + layout.VM + "/",
		func(spec store.KV, status *store.KV) (v1.Object, error) { return layout.DecodeVM(spec, status) },
		func() v1.Object { return &v1.VirtualMachine{} }}
	kindHost = &kind{v1.KindHost, false, layout.Spec + layout.Host + "/", layout.Status + layout.Host + "/",
		func(spec store.KV, status *store.KV) (v1.Object, error) { return layout.DecodeHost(spec, status) },
		func() v1.Object { return &v1.Host{} }}
	kindAction = &kind{v1.KindAction, true, layout.Spec + layout.Action + "/", layout.Status + layout.Action + "/",
		func(spec store.KV, status *store.KV) (v1.Object, error) { return layout.DecodeAction(spec, status) },
		func() v1.Object { return &v1.Action{} }}
	kindConfig = &kind{v1.KindClusterConfig, false, layout.Spec + layout.Config + "/", "",
		func(spec store.KV, _ *store.KV) (v1.Object, error) { return layout.DecodeConfig(spec) },
		func() v1.Object { return &v1.ClusterConfig{} }}
	kindEvent = &kind{v1.KindEvent, true, layout.Event, "",
		func(spec store.KV, _ *store.KV) (v1.Object, error) { return decodeEvent(spec) },
		func() v1.Object { return &v1.Event{} }}
)

var kinds = map[string]*kind{
	v1.KindVirtualMachine: kindVM, v1.KindHost: kindHost, v1.KindAction: kindAction,
	v1.KindClusterConfig: kindConfig, v1.KindEvent: kindEvent,
}

// kindOf is the kind of a Go value, whatever its own kind field says.
func kindOf(o v1.Object) *kind {
	switch o.(type) {
	case *v1.VirtualMachine:
		return kindVM
	case *v1.Host:
		return kindHost
	case *v1.ClusterConfig:
		return kindConfig
	case *v1.Action:
		return kindAction
	}
	return kindEvent
}

func decodeEvent(kv store.KV) (*v1.Event, error) {
	e := &v1.Event{}
	if err := json.Unmarshal(kv.Value, e); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	e.Metadata.ResourceVersion = strconv.FormatInt(kv.ModRevision, 10)
	return e, nil
}

// id is what follows the prefix in both keys of an object.
func (k *kind) id(namespace, name string) string {
	if k.namespaced {
		return namespace + "/" + name
	}
	return name
}

// within is the part of id that all objects of a namespace share; empty for all namespaces.
func (k *kind) within(namespace string) string {
	if namespace == "" || !k.namespaced {
		return ""
	}
	return namespace + "/"
}

// parse is the id of the object that a key belongs to, empty when it is none of the kind's, and whether the key is its spec.
func (k *kind) parse(key string) (id string, isSpec bool) {
	if id, isSpec = strings.CutPrefix(key, k.specs); isSpec {
		return id, true
	}
	if id, ok := strings.CutPrefix(key, k.statuses); ok && k.statuses != "" {
		return id, false
	}
	return "", false
}

// includes reports whether the object with an id is in scope.
func (k *kind) includes(scope Scope, id string) bool {
	if !strings.HasPrefix(id, k.within(scope.Namespace)) {
		return false
	}
	return scope.Name == "" || id[strings.LastIndexByte(id, '/')+1:] == scope.Name
}

// ref names an object, with the default namespace for a namespaced one that names none.
func (k *kind) ref(namespace, name string) v1.ObjectRef {
	switch {
	case !k.namespaced:
		namespace = ""
	case namespace == "":
		namespace = v1.DefaultNamespace
	}
	return v1.ObjectRef{Kind: k.name, Namespace: namespace, Name: name}
}

// refOf is ref for an id.
func (k *kind) refOf(id string) v1.ObjectRef {
	if namespace, name, ok := strings.Cut(id, "/"); ok && k.namespaced {
		return k.ref(namespace, name)
	}
	return k.ref("", id)
}

func encodeSpec(o v1.Object) []byte {
	switch o := o.(type) {
	case *v1.VirtualMachine:
		return layout.EncodeVMSpec(o)
	case *v1.Host:
		return layout.EncodeHostSpec(o)
	case *v1.Action:
		return layout.EncodeActionSpec(o)
	default:
		return layout.Encode(o)
	}
}

// specOf is the part of an object whose change makes a new generation.
func specOf(o v1.Object) any {
	switch o := o.(type) {
	case *v1.VirtualMachine:
		return o.Spec
	case *v1.Host:
		return o.Spec
	case *v1.ClusterConfig:
		return o.Spec
	}
	return nil
}

// copyStatus gives an object the status of another of its kind.
func copyStatus(to, from v1.Object) {
	switch to := to.(type) {
	case *v1.VirtualMachine:
		to.Status = from.(*v1.VirtualMachine).Status
	case *v1.Host:
		to.Status = from.(*v1.Host).Status
	}
}
