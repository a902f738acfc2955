package engine

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// Options of an engine. Store, Driver and Name are needed; zero of anything else means its default.
type Options struct {
	// Store holds what users want and what the core decided.
	Store store.Store
	// Driver reaches hosts.
	Driver hypervisor.Driver
	// Name of this process, for people who look at who leads.
	Name string
	// Log; nil means slog.Default().
	Log *slog.Logger

	// CallDeadline bounds each call that changes something on a host; zero means 30s. It is that long because a definition may
	// upload a cloud-init seed. A new leader waits the lease's TTL and this long before it unbinds anything.
	CallDeadline time.Duration
	// QueryDeadline bounds each call that only asks a host; zero means 10s. A boot storm makes libvirtd slow: less than a few
	// seconds would take a busy host for a dead one.
	QueryDeadline time.Duration
	// ConnectDeadline bounds a try to connect; zero means 10s. The two questions that follow have QueryDeadline each. UnreachableAfter
	// bounds all of it, until the host is called unreachable.
	ConnectDeadline time.Duration
	// PingInterval is how long a host may have said nothing before it is asked for a sign of life; zero means 5s.
	PingInterval time.Duration
	// UnreachableAfter is how long a host may be silent before it is called unreachable; zero means 15s: PingInterval and
	// QueryDeadline together. A shorter time is told as soon as the connection is known to be lost.
	UnreachableAfter time.Duration
	// ReconnectMin and ReconnectMax bound the delay between tries to connect, which doubles; zero means 1s and 30s.
	ReconnectMin, ReconnectMax time.Duration
	// ResyncInterval is how often every domain of a host is listed, to find what events missed; zero means 60s.
	ResyncInterval time.Duration
	// CommandsPerHost is how many commands a host carries out at once; zero means 4: libvirt answers 5 requests of a client at
	// once (max_client_requests), and one is kept for looking.
	CommandsPerHost int

	// ObjectsPerTxn is how many keys one transaction changes, unless one decision alone needs more; zero means 512. Transactions
	// are written one after another, so their number bounds throughput under load; without load they are as small as decisions.
	ObjectsPerTxn int
	// EventInterval is how often news are written, at most; zero means 1s.
	EventInterval time.Duration
	// EventTTL is how long an event is kept after it last happened; zero means 1h.
	EventTTL time.Duration
	// EventLimit is how many events are kept in all, the newest ones; zero means 10000.
	EventLimit int

	// TermPauseMin and TermPauseMax bound the pause between two terms, which doubles while terms end early; zero means 100ms
	// and 10s.
	TermPauseMin, TermPauseMax time.Duration
}

func (o Options) withDefaults() Options {
	o.Log = cmp.Or(o.Log, slog.Default())
	o.CallDeadline = cmp.Or(o.CallDeadline, 30*time.Second)
	o.QueryDeadline = cmp.Or(o.QueryDeadline, 10*time.Second)
	o.ConnectDeadline = cmp.Or(o.ConnectDeadline, 10*time.Second)
	o.PingInterval = cmp.Or(o.PingInterval, 5*time.Second)
	o.UnreachableAfter = cmp.Or(o.UnreachableAfter, 15*time.Second)
	o.ReconnectMin = cmp.Or(o.ReconnectMin, time.Second)
	o.ReconnectMax = cmp.Or(o.ReconnectMax, 30*time.Second)
	o.ResyncInterval = cmp.Or(o.ResyncInterval, time.Minute)
	o.CommandsPerHost = cmp.Or(o.CommandsPerHost, 4)
	o.ObjectsPerTxn = cmp.Or(o.ObjectsPerTxn, 512)
	o.EventInterval = cmp.Or(o.EventInterval, time.Second)
	o.EventTTL = cmp.Or(o.EventTTL, time.Hour)
	o.EventLimit = cmp.Or(o.EventLimit, 10000)
	o.TermPauseMin = cmp.Or(o.TermPauseMin, 100*time.Millisecond)
	o.TermPauseMax = cmp.Or(o.TermPauseMax, 10*time.Second)
	return o
}
