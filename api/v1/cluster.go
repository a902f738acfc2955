package v1

// KindClusterConfig is the kind of the ClusterConfig document.
const KindClusterConfig = "ClusterConfig"

// ClusterConfigName is the name of the only ClusterConfig.
const ClusterConfigName = "cluster"

// ClusterConfig holds the limits and defaults of the whole cluster. There is one, named "cluster".
type ClusterConfig struct {
	TypeMeta `json:",inline"`
	// Metadata: the uid is the cluster's, written into every domain's metadata.
	Metadata ObjectMeta `json:"metadata"`
	// Spec is what the admin wants.
	Spec ClusterConfigSpec `json:"spec"`
}

// ClusterConfigSpec is what the admin of the cluster wants. Zero always means the default; a manifest that writes a zero is refused.
type ClusterConfigSpec struct {
	// StartLimit is how many instances may be starting at once.
	StartLimit StartLimit `json:"startLimit,omitzero"`
	// StartTimeout of VMs that name none; zero means 5m.
	StartTimeout Duration `json:"startTimeout,omitzero"`
	// StopGracePeriod of VMs that name none; zero means 2m.
	StopGracePeriod Duration `json:"stopGracePeriod,omitzero"`
	// CrashLoop is the back-off of VMs that keep failing.
	CrashLoop CrashLoopPolicy `json:"crashLoop,omitzero"`
	// BaselineCPUModel is the CPU model of VMs that name none; empty means qemu64, which every x86-64 host can run.
	BaselineCPUModel string `json:"baselineCPUModel,omitempty"`
}

// StartLimit is how many instances may be starting at once: told to launch, and not yet running.
type StartLimit struct {
	// Cluster is the limit for all hosts together; zero means 100.
	Cluster int `json:"cluster,omitempty"`
	// PerHost is the limit for each host; zero means 4.
	PerHost int `json:"perHost,omitempty"`
}

// CrashLoopPolicy is the back-off of VMs that keep failing: initial·2^(n-1) after the n-th failure in a row, at most max,
// ±20 %.
type CrashLoopPolicy struct {
	// InitialDelay after the first failure; zero means 10s.
	InitialDelay Duration `json:"initialDelay,omitzero"`
	// MaxDelay is the longest delay; zero means 5m.
	MaxDelay Duration `json:"maxDelay,omitzero"`
	// MinUptime: an instance that ends sooner after it began to run counts as a failure; zero means 1m.
	MinUptime Duration `json:"minUptime,omitzero"`
}
