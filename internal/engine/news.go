package engine

import (
	"container/list"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// news keeps the events: one for each object and reason, with a count. It is written after everything else, at most once in
// EventInterval; what was not yet written when a term ends is lost, as news may be. The loop owns it.
type news struct {
	o *Options
	// byObject and reason; order has all, the one that happened longest ago first.
	byObject map[objectKey]map[string]*item
	order    *list.List
	// dirty are the events to be written, gone those whose keys are to be removed.
	dirty, gone []*item
	// flushed is when news were last written.
	flushed time.Time
}

// objectKey names an object across its incarnations.
type objectKey struct{ kind, namespace, name string }

type item struct {
	key   string
	event v1.Event
	place *list.Element
	// stored: the key may be in the store. dirty: it waits in the list of that name.
	stored, dirty bool
}

func newNews(o *Options) *news {
	return &news{o: o, byObject: map[objectKey]map[string]*item{}, order: list.New()}
}

// load takes note of an event that is in the store; loaded follows the last of them.
func (n *news) load(kv store.KV) error {
	it := &item{key: kv.Key, stored: true}
	if err := json.Unmarshal(kv.Value, &it.event); err != nil {
		return fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	n.insert(it)
	return nil
}

func (n *news) loaded() {
	items := make([]*item, 0, n.order.Len())
	for e := n.order.Front(); e != nil; e = e.Next() {
		items = append(items, e.Value.(*item))
	}
	slices.SortStableFunc(items, func(a, b *item) int { return a.event.LastAt.Compare(b.event.LastAt) })
	for _, it := range items {
		n.order.MoveToBack(it.place)
	}
}

func (n *news) insert(it *item) {
	k := keyOf(it.event.Object)
	if n.byObject[k] == nil {
		n.byObject[k] = map[string]*item{}
	}
	n.byObject[k][it.event.Reason] = it
	it.place = n.order.PushBack(it)
}

func keyOf(o v1.ObjectRef) objectKey { return objectKey{o.Kind, o.Namespace, o.Name} }

// add counts one piece of news.
func (n *news) add(now time.Time, notice core.Notice) {
	it := n.byObject[keyOf(notice.Object)][notice.Reason]
	if it == nil {
		it = &item{key: layout.EventKey(notice.Object, notice.Reason)}
		it.event.Object, it.event.Reason = notice.Object, notice.Reason
		n.insert(it)
	}
	e := &it.event
	if e.Count == 0 || e.Object.UID != notice.Object.UID {
		*e = v1.Event{
			TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindEvent},
			Metadata: v1.ObjectMeta{
				Name:      strings.ToLower(notice.Object.Kind) + "." + notice.Object.Name + "." + strings.ToLower(notice.Reason),
				Namespace: notice.Object.Namespace, CreationTimestamp: now,
			},
			Object: notice.Object, Reason: notice.Reason, FirstAt: now,
		}
	}
	e.Type = v1.EventNormal
	if notice.Warning {
		e.Type = v1.EventWarning
	}
	e.Message, e.LastAt = notice.Message, now
	e.Count++
	n.order.MoveToBack(it.place)
	if !it.dirty {
		it.dirty = true
		n.dirty = append(n.dirty, it)
	}
	for n.order.Len() > n.o.EventLimit {
		n.drop(n.order.Front().Value.(*item))
	}
}

// drop forgets an event; if it is in the store its key is to be removed.
func (n *news) drop(it *item) {
	n.unlink(it)
	if it.stored {
		n.gone = append(n.gone, it)
	}
}

func (n *news) unlink(it *item) {
	n.order.Remove(it.place)
	it.place = nil
	k := keyOf(it.event.Object)
	delete(n.byObject[k], it.event.Reason)
	if len(n.byObject[k]) == 0 {
		delete(n.byObject, k)
	}
}

// forget drops all news about an object and returns the keys that may be in the store.
func (n *news) forget(o v1.ObjectRef) []string {
	var keys []string
	for _, it := range n.byObject[keyOf(o)] {
		n.unlink(it)
		if it.stored {
			keys = append(keys, it.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// newsPerFlush bounds what one flush writes, so that a storm of news does not hold up decisions.
const newsPerFlush = 256

// patience is how many intervals news wait for a quiet moment, before they are written in a busy one.
const patience = 5

// overdue reports whether news have waited long enough to be written though there is more important work.
func (n *news) overdue(now time.Time) bool {
	return n.waiting() && !now.Before(n.flushed.Add(patience*n.o.EventInterval))
}

func (n *news) waiting() bool { return len(n.dirty) > 0 || len(n.gone) > 0 }

// flush returns what is to be written now: nothing, when the last flush is too recent.
func (n *news) flush(now time.Time) []unit {
	for e := n.order.Front(); e != nil && !now.Before(e.Value.(*item).event.LastAt.Add(n.o.EventTTL)); e = n.order.Front() {
		n.drop(e.Value.(*item))
	}
	if !n.waiting() || now.Before(n.flushed.Add(n.o.EventInterval)) {
		return nil
	}
	n.flushed = now
	var units []unit
	var keys []string
	for len(n.gone) > 0 && len(keys) < newsPerFlush {
		it := n.gone[0]
		n.gone = n.gone[1:]
		if n.byObject[keyOf(it.event.Object)][it.event.Reason] == nil { // it has not happened again
			keys = append(keys, it.key)
		}
	}
	for chunk := range slices.Chunk(keys, n.o.ObjectsPerTxn) {
		units = append(units, unit{remove: chunk})
	}
	var puts []entry
	for len(n.dirty) > 0 && len(puts) < newsPerFlush {
		it := n.dirty[0]
		n.dirty = n.dirty[1:]
		it.dirty = false
		if it.place == nil {
			continue // dropped before it was ever written
		}
		it.stored = true
		puts = append(puts, entry{it.key, layout.Encode(&it.event)})
	}
	for chunk := range slices.Chunk(puts, n.o.ObjectsPerTxn) {
		units = append(units, unit{put: chunk})
	}
	return units
}

// nextFlush is when flush will have something to return; false: nothing is foreseen.
func (n *news) nextFlush() (time.Time, bool) {
	if n.waiting() {
		return n.flushed.Add(n.o.EventInterval), true
	}
	if e := n.order.Front(); e != nil {
		return e.Value.(*item).event.LastAt.Add(n.o.EventTTL), true
	}
	return time.Time{}, false
}
