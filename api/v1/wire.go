package v1

// List is what the API returns for a collection. Its kind is the items' kind with "List" behind.
type List[T any] struct {
	TypeMeta `json:",inline"`
	Metadata ListMeta `json:"metadata"`
	// Items in the order of namespace and name; never null.
	Items []T `json:"items"`
}

// ListMeta says how old a list is.
type ListMeta struct {
	// ResourceVersion is the store's revision of which the list is a snapshot: a watch from it misses nothing.
	ResourceVersion string `json:"resourceVersion"`
}

// WatchType says what a line of a watch is about.
type WatchType string

// The types of a watch's lines.
const (
	// WatchAdded: the object is new to whoever watches.
	WatchAdded WatchType = "ADDED"
	// WatchModified: its spec, metadata or status changed. May come for an object that the watcher has not seen.
	WatchModified WatchType = "MODIFIED"
	// WatchDeleted: it is gone, or no longer matches what is watched. May come for an object that the watcher has not seen.
	WatchDeleted WatchType = "DELETED"
	// WatchBookmark carries no object, only a resource version; it also shows that the connection lives.
	WatchBookmark WatchType = "BOOKMARK"
	// WatchError ends the watch; Problem says why and what to do.
	WatchError WatchType = "ERROR"
)

// WatchLine is one line of a watch.
type WatchLine[T any] struct {
	Type WatchType `json:"type"`
	// Object as it is after the change; for DELETED as it was last, or with no more than its name. Nil for BOOKMARK and ERROR.
	Object *T `json:"object,omitempty"`
	// ResourceVersion is where to resume: a watch from here misses nothing, and may repeat the lines of one revision.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Problem of an ERROR; nil otherwise.
	Problem *Problem `json:"problem,omitempty"`
}

// ActionRequest asks for an action on a VM.
type ActionRequest struct {
	// Type is start, stop or restart.
	Type ActionType `json:"type"`
	// RequestID is the client's own name for this request, at most 63 letters, digits, '-', '_' and '.', e.g. a UUID: sent
	// again, it is the same action and has its effect once. Empty means that the server makes one up, and that the request cannot be repeated safely.
	RequestID string `json:"requestID,omitempty"`
	// Force (stop, restart): switch the guest off now, without asking it to shut down.
	Force bool `json:"force,omitempty"`
	// TTL is how long the action may wait for its effect before it is given up. Zero means the server's default.
	TTL Duration `json:"ttl,omitzero"`
}

// ApplyResult says what became of one document of a manifest.
type ApplyResult struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Result is created, configured or unchanged.
	Result string `json:"result"`
}

// ApplyResponse lists the documents of a manifest in their order.
type ApplyResponse struct {
	// DryRun: nothing was written; the results are what would have become of the documents.
	DryRun bool          `json:"dryRun,omitempty"`
	Items  []ApplyResult `json:"items"`
}

// VersionInfo says which server answers.
type VersionInfo struct {
	// Version of the server, e.g. "v0.1.0".
	Version string `json:"version"`
	// Leader is the name of the process that decides; empty while there is none.
	Leader string `json:"leader,omitempty"`
}

// Problem is why a request failed, in the form of RFC 9457 (application/problem+json).
type Problem struct {
	// Type is a URI for the kind of problem; always "about:blank": title and status say it all.
	Type string `json:"type"`
	// Title is the short name of the status, e.g. "Conflict".
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail says what went wrong with which object, why, and what to do next.
	Detail string `json:"detail,omitempty"`
	// Errors are the single errors of a request that has several.
	Errors []ProblemError `json:"errors,omitempty"`
}

// ProblemError is one error in a document.
type ProblemError struct {
	// Message says what is wrong and what would be right.
	Message string `json:"message"`
	// Location is the path of the field, e.g. "spec.template.disks[0].name"; empty when it is about no field.
	Location string `json:"location,omitempty"`
	// File is the manifest's name, when the client gave one.
	File string `json:"file,omitempty"`
	// Line and Column count from 1; zero means unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}
