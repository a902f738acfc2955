package v1

// Object is any of the objects: *VirtualMachine, *Host, *ClusterConfig, *Action, *Event.
type Object interface {
	// GetTypeMeta and GetMetadata give access to what every object has; they never return nil.
	GetTypeMeta() *TypeMeta
	GetMetadata() *ObjectMeta
}

// GetTypeMeta implements Object.
func (t *TypeMeta) GetTypeMeta() *TypeMeta { return t }

// GetMetadata implements Object.
func (v *VirtualMachine) GetMetadata() *ObjectMeta { return &v.Metadata }

// GetMetadata implements Object.
func (h *Host) GetMetadata() *ObjectMeta { return &h.Metadata }

// GetMetadata implements Object.
func (c *ClusterConfig) GetMetadata() *ObjectMeta { return &c.Metadata }

// GetMetadata implements Object.
func (a *Action) GetMetadata() *ObjectMeta { return &a.Metadata }

// GetMetadata implements Object.
func (e *Event) GetMetadata() *ObjectMeta { return &e.Metadata }

// RefTo names an object.
func RefTo(o Object) ObjectRef {
	m := o.GetMetadata()
	return ObjectRef{Kind: o.GetTypeMeta().Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID}
}

// String is "VirtualMachine default/db1", "Host host1" for what has no namespace, and the kind alone without a name.
func (r ObjectRef) String() string {
	switch {
	case r.Name == "":
		return r.Kind
	case r.Namespace == "":
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// EffectiveRunStrategy is the run strategy, whichever spelling the owner chose.
func (s VirtualMachineSpec) EffectiveRunStrategy() RunStrategy {
	switch {
	case s.RunStrategy != "":
		return s.RunStrategy
	case s.Running != nil && !*s.Running:
		return RunHalted
	default:
		return RunAlways
	}
}
