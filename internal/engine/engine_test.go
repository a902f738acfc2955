package engine

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

func TestVMsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		for n := range 20 {
			w.apply(newVM(n))
		}
		stop := w.run(nil)
		pass(20 * time.Second)
		for n := range 20 {
			if s := w.status(n); s.PrintableStatus != v1.PrintableRunning {
				t.Errorf("vm%d is %q: %+v", n, s.PrintableStatus, s)
			}
		}
		stop()
		// The next leader adopts what runs.
		before := w.status(3).Instance.ID
		w.run(nil)
		pass(time.Minute)
		if s := w.status(3); s.PrintableStatus != v1.PrintableRunning || s.Instance.ID != before {
			t.Errorf("after a change of leaders vm3 is %+v", s)
		}
	})
}
