package human

import (
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

func TestBytes(t *testing.T) {
	for q, want := range map[v1.Quantity]string{
		0: "0", 1000: "1000", 1 << 10: "1Ki", 237760 << 10: "232.2Mi", 3 << 29: "1.5Gi", 8 << 30: "8Gi", 4096 << 40: "4096Ti",
	} {
		if got := Bytes(q); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", q, got, want)
		}
	}
}
