package engine

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// term is one leadership. Everything in it is touched by the loop alone, except what its comment says otherwise.
type term struct {
	o     *Options
	lease store.Term
	clock clock
	core  decider
	book  *book
	news  *news
	hosts *hosts
	// unreadable: some object in the store could not be read.
	unreadable bool
	// end ends the term; safe for concurrent use.
	end context.CancelCauseFunc
	// group holds every goroutine of the term.
	group sync.WaitGroup

	// inbox is how hosts' goroutines tell the loop something.
	inbox chan core.Event
	// own are events that the loop itself has for the core.
	own []core.Event
	// queue holds decisions that are not durable, in order; the first of them may be in the writer's hands already.
	queue []unit
	// batches go to the writer, which gives each back once it is durable. At most two are under way: one that is being written,
	// and a full one that waits for it, so that the writer need not wait for the loop.
	batches chan *batch
	durable chan *batch
	writing int
}

// inboxSize is how many observations may wait for the loop before those who bring them have to.
const inboxSize = 256

// gather is how many observations the core is told at most before its decisions are taken from it: enough to fill a transaction
// under load, few enough not to keep a decision waiting.
const gather = 512

func newTerm(o *Options, lease store.Term, c decider, end context.CancelCauseFunc) *term {
	t := &term{
		o: o, lease: lease, clock: newClock(), core: c, book: newBook(), news: newNews(o), end: end,
		inbox: make(chan core.Event, inboxSize), batches: make(chan *batch, 2), durable: make(chan *batch, 2),
	}
	return t
}

// run loads the store, and then leads until something ends the term.
func (t *term) run(ctx context.Context) error {
	t.hosts = newHosts(ctx, t)
	revision, err := t.load(ctx)
	if err != nil {
		return err
	}
	t.o.Log.Info("term loaded", "revision", revision, "hosts", len(t.book.hosts), "vms", len(t.book.vms), "actions", len(t.book.actions))
	t.group.Go(func() { t.write(ctx) })
	return t.loop(ctx, t.decodeAhead(ctx, t.o.Store.Watch(ctx, layout.Spec, revision+1)))
}

// loop is the heart of the term: observations go into the core, decisions come out, are made durable, and leave.
func (t *term) loop(ctx context.Context, watch <-chan sighting) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s, ok := <-t.open(watch):
			err = t.watched(ctx, s, ok)
		case ev := <-t.inbox:
			t.step(ev)
		case b := <-t.durable:
			t.carryOut(b)
		case <-timer.C:
			t.tick()
		}
		for n := 0; err == nil && n < gather && t.more(ctx, watch, &err); n++ {
		}
		if err != nil {
			return err
		}
		t.decide()
		timer.Reset(t.untilNext())
	}
}

// more takes one more observation if there is one.
func (t *term) more(ctx context.Context, watch <-chan sighting, err *error) bool {
	if len(t.own) > 0 {
		ev := t.own[0]
		t.own = t.own[1:]
		t.step(ev)
		return true
	}
	select {
	case s, ok := <-t.open(watch):
		*err = t.watched(ctx, s, ok)
	case ev := <-t.inbox:
		t.step(ev)
	case b := <-t.durable:
		t.carryOut(b)
	default:
		return false
	}
	return true
}

// open is the watch, or nil while so many decisions wait for the writer that new ones would only wait too: what hosts have done
// meanwhile goes first, and the queue stays short.
func (t *term) open(watch <-chan sighting) <-chan sighting {
	if len(t.queue) > 2*t.o.ObjectsPerTxn {
		return nil
	}
	return watch
}

func (t *term) watched(ctx context.Context, s sighting, ok bool) error {
	if !ok {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return store.ErrClosed
	}
	return t.observe(s)
}

func (t *term) step(ev core.Event) { t.core.Step(t.clock.Now(), ev) }

// tick tells the core that a deadline is due, if one is.
func (t *term) tick() {
	if at, ok := t.core.NextDeadline(); ok && !at.After(t.clock.Now()) {
		t.step(core.Tick{})
	}
}

// decide takes what the core has decided and hands the writer the next batch if it is free.
func (t *term) decide() {
	now := t.clock.Now()
	ready := t.core.Ready()
	for _, u := range ready.Units {
		t.queue = append(t.queue, t.prepare(u))
	}
	for _, n := range ready.Notices {
		t.news.add(now, n)
	}
	if t.writing == 0 && len(t.queue) < t.o.ObjectsPerTxn || t.news.overdue(now) {
		t.queue = append(t.queue, t.news.flush(now)...)
	}
	for t.writing == 0 && len(t.queue) > 0 || t.writing == 1 && len(t.queue) >= t.o.ObjectsPerTxn {
		t.writing++
		t.batches <- t.pack() // has room for both
	}
}

// carryOut sends the commands of a batch that is durable.
func (t *term) carryOut(b *batch) {
	t.writing--
	for _, o := range b.orders {
		if !t.hosts.send(o) {
			t.own = append(t.own, core.CommandDone{ID: o.ID, Outcome: core.Unsent, Message: "the host is not known any more"})
		}
	}
}

// shortestWait keeps a core that names a deadline in the past from turning the loop into a spin.
const shortestWait = time.Millisecond

// longestWait is when the loop wakes up though nobody asked it to.
const longestWait = time.Hour

// untilNext is how long the loop may sleep when nothing happens.
func (t *term) untilNext() time.Duration {
	now, wait := t.clock.Now(), longestWait
	if len(t.own) > 0 {
		return 0
	}
	if at, ok := t.core.NextDeadline(); ok {
		wait = min(wait, at.Sub(now))
	}
	if at, ok := t.news.nextFlush(); ok && t.writing == 0 {
		wait = min(wait, at.Sub(now))
	}
	return max(wait, shortestWait)
}
