package v1

// Document is one object of a manifest, and where it was written.
type Document struct {
	// Object is a *VirtualMachine, *Host or *ClusterConfig, with its defaults set.
	Object Object
	// File and Line of the document's beginning; zero when it was not read from a file.
	File string
	Line int
}
