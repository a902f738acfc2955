package lab

// What tests outside the package look at: those that need labtest cannot be inside it.
const (
	KVM = kvm
	TCG = tcg
)

var ProbeKVM = probeKVM

// RequiredPackages are the packages that Check looks for.
func RequiredPackages() []string {
	var packages []string
	for _, r := range requirements {
		packages = append(packages, r.pkg)
	}
	return packages
}
