package human

import (
	"fmt"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// Bytes is a number of bytes with at most one decimal: "1.5Gi". It is rounded; v1.Quantity's own String is exact.
func Bytes(q v1.Quantity) string {
	size, units := float64(q), []string{"", "Ki", "Mi", "Gi", "Ti"}
	u := 0
	for size >= 1024 && u < len(units)-1 {
		size, u = size/1024, u+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + units[u]
}
