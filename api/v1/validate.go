package v1

// Validate lists what is wrong with an object whose defaults are set; none means it may be stored.
func Validate(o Object) []FieldError {
	m := o.GetMetadata()
	if m.Name == "" {
		return []FieldError{{Field: "metadata.name", Problem: "missing", Remedy: "name the object"}}
	}
	return nil
}
