package store

import "time"

// The arithmetic of a lease, the same in every store. With the default of 10 s: renewed every 2 s, so four renewals in a row may
// fail before the leader stops itself after 8 s, 2 s before the store may let another lead.
const (
	// DefaultTTL is how long a lease lives without renewal. Shorter makes for a faster takeover, but a stalled disk or a busy
	// machine then ends terms for nothing: each costs a reload of everything.
	DefaultTTL = 10 * time.Second
	parts      = 5
)

// RenewEvery is the time between two renewals of a lease.
func RenewEvery(ttl time.Duration) time.Duration { return ttl / parts }

// Margin is how long before the end of the lease its holder stops. It covers what lies between a look at Term.Valid and the call
// reaching its host, and clocks that tick at different speeds.
func Margin(ttl time.Duration) time.Duration { return ttl / parts }
