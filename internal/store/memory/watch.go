package memory

import (
	"context"
	"strings"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// watch is one reader's place in the history.
type watch struct {
	prefix string
	next   int64 // the revision to look at next, under data.mu
}

// Watch implements store.Store.
func (h *Handle) Watch(ctx context.Context, prefix string, from int64) <-chan store.Batch {
	out := make(chan store.Batch)
	w := &watch{prefix: prefix, next: max(from, 1)}
	h.data.mu.Lock()
	err := h.alive()
	if err == nil && w.next <= h.data.compacted {
		err = store.ErrCompacted
	}
	if err == nil {
		h.data.watches[w] = true
	}
	h.data.mu.Unlock()
	go h.report(ctx, w, err, out)
	return out
}

// report runs one watch; err ends it before it began.
func (h *Handle) report(ctx context.Context, w *watch, err error, out chan<- store.Batch) {
	defer close(out)
	defer func() {
		h.data.mu.Lock()
		defer h.data.mu.Unlock()
		delete(h.data.watches, w)
	}()
	for {
		var b store.Batch
		var changed <-chan struct{}
		if err == nil {
			b, changed, err = h.read(w)
		}
		if err != nil {
			select {
			case out <- store.Batch{Err: err}:
			case <-ctx.Done():
			}
			return
		}
		deliver := out
		if changed != nil {
			deliver = nil
		}
		select {
		case deliver <- b:
		case <-changed:
		case <-ctx.Done():
			return
		case <-h.killed:
		case <-h.closed:
		case <-h.data.closed:
		}
	}
}

// read is the next batch of the watch, or a channel that is closed when there is something new.
func (h *Handle) read(w *watch) (b store.Batch, changed <-chan struct{}, err error) {
	d := h.data
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := h.alive(); err != nil {
		return b, nil, err
	}
	for w.next <= d.revision {
		all := d.history[w.next-d.history[0].Revision]
		w.next++
		for _, c := range all.Changes {
			if strings.HasPrefix(c.Key, w.prefix) {
				c.Value = copied(c.Value)
				b.Changes = append(b.Changes, c)
			}
		}
		if b.Changes != nil {
			b.Revision = all.Revision
			return b, nil, nil
		}
	}
	return b, d.changed, nil
}
