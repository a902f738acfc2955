package labtests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// owner is one VM's owner, who asks for things and keeps count of what they allow.
type owner struct {
	name     string
	uid      string
	strategy v1.RunStrategy
	on       bool
	deleted  bool
	// boots is how many boots the owner's requests allow, ends how many ends.
	boots, ends int
	// requests are the ids of accepted actions.
	requests []string
}

// TestServerKilled kills the server with SIGKILL at random moments while ten VMs start, run, stop and are deleted. In the end every VM
// is as its owner wants; seen from outside, no guest had two writers, none was booted or ended without being asked; and no accepted
// action was lost. "make soak" kills 50 times.
func TestServerKilled(t *testing.T) {
	kills := 6
	if soak() {
		kills = 50
	}
	w := newWorld(t, 2)
	random := rand.New(rand.NewPCG(seed(t), 1))
	var owners []*owner
	for i := range 10 {
		o := &owner{name: fmt.Sprintf("vm%d", i), strategy: v1.RunAlways, on: true, boots: 1}
		if i%3 == 2 {
			o.strategy, o.on, o.boots = v1.RunManual, false, 0
		}
		o.uid = w.create(w.vm(o.name, o.strategy)).Metadata.UID
		owners = append(owners, o)
	}

	// The users go on asking while the server dies and returns.
	ctx, cancel := context.WithCancel(t.Context())
	var users sync.WaitGroup
	usersRandom := rand.New(rand.NewPCG(random.Uint64(), 2))
	users.Go(func() {
		for ctx.Err() == nil {
			w.ask(usersRandom, owners[usersRandom.IntN(len(owners))])
			pause(ctx, time.Duration(200+usersRandom.IntN(1500))*time.Millisecond)
		}
	})
	for range kills {
		pause(ctx, time.Duration(random.IntN(4000))*time.Millisecond)
		w.server.kill()
		pause(ctx, time.Duration(random.IntN(500))*time.Millisecond)
		w.server.start()
	}
	cancel()
	users.Wait()

	for _, o := range owners {
		w.asWanted(o)
	}
	t.Logf("%d kills, %d requests", kills, count(owners))
}

// ask makes one request of an owner. A request that breaks off is repeated with the same id until it is answered.
func (w *world) ask(random *rand.Rand, o *owner) {
	if o.deleted {
		return
	}
	kind, force := v1.ActionStop, random.IntN(3) == 0
	switch {
	case random.IntN(12) == 0:
		w.persist(func() error {
			_, err := w.server.client.DeleteVM(context.Background(), "", o.name, client.DeleteOptions{Force: force})
			return err
		})
		o.deleted, o.on = true, false
		o.ends++
		return
	case !o.on:
		kind, force, o.on = v1.ActionStart, false, true
		o.boots++
	case random.IntN(2) == 0:
		kind = v1.ActionRestart
		o.boots++
		o.ends++
	default:
		o.on = false
		o.ends++
	}
	id := client.NewRequestID()
	o.requests = append(o.requests, id)
	w.persist(func() error {
		_, err := w.server.client.PostAction(context.Background(), "", o.name, v1.ActionRequest{RequestID: id, Type: kind, Force: force})
		return err
	})
}

// persist repeats what breaks off, because the server is dead at the moment, until it is answered. It does so even when the test is
// about to end: what was begun must be known to have been accepted.
func (w *world) persist(request func() error) {
	for range 600 {
		err := request()
		switch {
		case err == nil:
			return
		case !client.IsUnavailable(err):
			w.t.Errorf("a request was refused: %v", err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Error("a request could not be made within a minute")
}

// asWanted waits until the VM is as its owner wants, and judges from outside what it went through.
func (w *world) asWanted(o *owner) {
	t := w.t
	t.Helper()
	switch {
	case o.deleted:
		w.gone(o.name)
	case o.on:
		w.is(o.name, v1.PrintableRunning)
		beats := func() int { boot, _ := w.beat(o.name).Running(); return boot.Beats }
		eventually(t, o.name+" beats", func() bool { return beats() > 0 })
		before := beats()
		eventually(t, o.name+" goes on beating", func() bool { return beats() != before })
	default:
		w.is(o.name, v1.PrintableStopped)
	}
	want := 0
	if o.on {
		want = 1
	}
	if on := w.hostsOf(o.uid, "--all"); len(on) != want {
		t.Errorf("%s (%s, on: %v, deleted: %v) is defined on %v", o.name, o.strategy, o.on, o.deleted, on)
	}
	boots := w.beat(o.name).Boots
	if len(boots) > o.boots {
		t.Errorf("%s was booted %d times, and its owner's requests allow %d", o.name, len(boots), o.boots)
	}
	if ended := len(boots) - want; ended > o.ends {
		t.Errorf("%s ended %d times, and its owner asked for %d", o.name, ended, o.ends)
	}
	for _, id := range o.requests {
		if o.deleted {
			break // what was asked after the deletion was refused at once
		}
		a, err := w.server.client.GetAction(t.Context(), "", id)
		if err != nil || a.Status.Phase == "" || a.Status.Phase == v1.ActionPending {
			t.Errorf("%s: the accepted action %s has come to nothing: %+v, %v", o.name, id, a, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func count(owners []*owner) int {
	n := 0
	for _, o := range owners {
		n += len(o.requests)
	}
	return n
}
