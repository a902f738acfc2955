package lab_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/lab"
)

// What hack/packages.sh installs is what a lab checks for. Otherwise tests would have to find out by themselves that something is
// missing, and each would have a policy of its own. (cpio is for building the test guest, whose script looks for it.)
func TestPackagesAreCheckedFor(t *testing.T) {
	script, err := os.ReadFile("../../hack/packages.sh")
	if err != nil {
		t.Fatal(err)
	}
	var installed []string
	for _, m := range regexp.MustCompile(`(?m)^  "([a-z0-9-]+)\|`).FindAllStringSubmatch(string(script), -1) {
		if m[1] != "cpio" {
			installed = append(installed, m[1])
		}
	}
	required := lab.RequiredPackages()
	slices.Sort(installed)
	slices.Sort(required)
	if !slices.Equal(installed, required) {
		t.Errorf("hack/packages.sh installs %v, and a lab checks for %v", installed, required)
	}
}
