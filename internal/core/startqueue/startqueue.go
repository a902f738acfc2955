// Package startqueue holds the VMs that want to start, and says in which order they may try.
//
// It exists so that a fleet of waiting VMs costs nothing while it waits: VMs with equal requirements share a class, and what keeps
// the first of a class from starting keeps them all, so a pass over the queue touches each class once, not each VM.
package startqueue

import (
	"container/heap"
	"slices"
)

// Item is one waiting VM.
type Item struct {
	// ID of the VM, and the class of its requirement.
	ID, Class string
	arrival   int64
}

// Queue is ordered by arrival. The zero value is not ready: use New.
type Queue struct {
	arrivals int64
	items    map[string]*Item
	classes  map[string]*class
}

type class struct {
	name  string
	items []*Item // by arrival; removed ones are nil until they reach the front
	live  int
}

// New is an empty queue.
func New() *Queue {
	return &Queue{items: map[string]*Item{}, classes: map[string]*class{}}
}

// Len is the number of waiting VMs.
func (q *Queue) Len() int { return len(q.items) }

// Has reports whether the VM waits.
func (q *Queue) Has(id string) bool { return q.items[id] != nil }

// Put appends the VM and reports whether that is news: one that waits already keeps its place, and its arrival when its class has
// changed.
func (q *Queue) Put(id, className string) bool {
	old := q.items[id]
	if old != nil && old.Class == className {
		return false
	}
	it := &Item{ID: id, Class: className}
	if old != nil {
		it.arrival = old.arrival
		q.Remove(id)
	} else {
		q.arrivals++
		it.arrival = q.arrivals
	}
	c := q.classes[className]
	if c == nil {
		c = &class{name: className}
		q.classes[className] = c
	}
	at := len(c.items)
	for at > 0 && (c.items[at-1] == nil || c.items[at-1].arrival > it.arrival) {
		at--
	}
	c.items = slices.Insert(c.items, at, it)
	c.live++
	q.items[id] = it
	return true
}

// Remove takes the VM out; one that does not wait is ignored.
func (q *Queue) Remove(id string) {
	it := q.items[id]
	if it == nil {
		return
	}
	delete(q.items, id)
	c := q.classes[it.Class]
	if c.live--; c.live == 0 {
		delete(q.classes, it.Class)
		return
	}
	if i := slices.Index(c.items, it); i == 0 {
		c.items = c.items[1:]
	} else {
		c.items[i] = nil
	}
	c.trim()
}

func (c *class) trim() {
	for len(c.items) > 0 && c.items[0] == nil {
		c.items = c.items[1:]
	}
}

// Class lists the waiting VMs of a class by arrival.
func (q *Queue) Class(name string) []string {
	c := q.classes[name]
	if c == nil {
		return nil
	}
	ids := make([]string, 0, c.live)
	for _, it := range c.items {
		if it != nil {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// Verdict is what became of a VM that was tried.
type Verdict int

// The verdicts.
const (
	// Started: it left the queue; the next of its class may try.
	Started Verdict = iota
	// ClassBlocked: it cannot start now, and so cannot any of its class.
	ClassBlocked
	// AllBlocked: nobody can start now.
	AllBlocked
)

// Try offers the waiting VMs by arrival. try says what became of each; a VM that started is removed.
func (q *Queue) Try(try func(id string) Verdict) {
	heads := make(headHeap, 0, len(q.classes))
	for _, c := range q.classes { // any order: the heap below orders by arrival
		heads = append(heads, c)
	}
	heap.Init(&heads)
	for len(heads) > 0 {
		c := heads[0]
		id := c.items[0].ID
		switch try(id) {
		case AllBlocked:
			return
		case ClassBlocked:
			heap.Pop(&heads)
		case Started:
			last := c.live == 1
			q.Remove(id)
			if last {
				heap.Pop(&heads)
			} else {
				heap.Fix(&heads, 0)
			}
		}
	}
}

type headHeap []*class

func (h headHeap) Len() int           { return len(h) }
func (h headHeap) Less(i, j int) bool { return h[i].items[0].arrival < h[j].items[0].arrival }
func (h headHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *headHeap) Push(x any)        { *h = append(*h, x.(*class)) }
func (h *headHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
