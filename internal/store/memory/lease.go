package memory

import (
	"fmt"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// lease is the leader's hold on its key.
type lease struct {
	key      string
	created  int64
	deadline time.Time
	expiry   *time.Timer
	lost     chan struct{} // closed when the key is gone
}

// candidate waits to lead.
type candidate struct {
	handle  *Handle
	name    string
	elected chan *lease // holds one
}

// The functions here want d.mu held, except the timer's.

// settleElection ends the lease of a leader whose key is gone, by whatever transaction, and lets the next one lead.
func (d *data) settleElection() {
	if l := d.leader; l != nil && d.keys[l.key].CreateRevision != l.created {
		l.expiry.Stop()
		close(l.lost)
		d.leader = nil
	}
	for d.leader == nil && len(d.waiting) > 0 {
		c := d.waiting[0]
		d.waiting = d.waiting[1:]
		if c.handle.alive() == nil {
			d.elect(c)
		}
	}
}

func (d *data) elect(c *candidate) {
	l := &lease{
		key:      fmt.Sprintf("%s%016x", layout.Leader, d.revision+1),
		created:  d.revision + 1,
		deadline: time.Now().Add(d.ttl),
		lost:     make(chan struct{}),
	}
	l.expiry = time.AfterFunc(d.ttl, func() { d.expire(l) })
	d.leader = l
	if _, err := d.commit(store.Txn{Put: []store.KV{{Key: l.key, Value: []byte(c.name)}}}); err != nil {
		panic("memory: an unconditional write failed: " + err.Error())
	}
	c.elected <- l
}

func (d *data) expire(l *lease) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.leader == l && !time.Now().Before(l.deadline) && !isClosed(d.closed) {
		d.release(l)
	}
}

// release deletes the leader's key, which lets the next one lead.
func (d *data) release(l *lease) {
	if d.leader != l {
		return
	}
	if _, err := d.commit(store.Txn{Delete: []string{l.key}}); err != nil {
		panic("memory: an unconditional delete failed: " + err.Error())
	}
}

func (d *data) renew(l *lease) {
	l.deadline = time.Now().Add(d.ttl)
	l.expiry.Reset(d.ttl)
}
