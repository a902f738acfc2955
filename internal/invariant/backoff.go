package invariant

import (
	"cmp"
	"time"
)

// BackoffHonoured takes retryAt from the last status before the new instance, and checks also that retryAt is as far away from the
// failure as the policy says, less the 20 % of jitter.
var BackoffHonoured = Check{
	Name: "BackoffHonoured",
	Says: "no instance before retryAt, except after start or a change that resets",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			for _, m := range w.changed {
				if loop := m.status().CrashLoop; loop != nil && m.newFailure() {
					if least := w.leastDelay(loop.ConsecutiveFailures); loop.RetryAt.Sub(loop.LastFailure.EndedAt) < least {
						complain(m.uid, "failure %d of VM %s may be retried after %s, the least delay is %s",
							loop.ConsecutiveFailures, m.name(), loop.RetryAt.Sub(loop.LastFailure.EndedAt), least)
					}
				}
				in, was := m.newInstance(), m.previous()
				if in == nil || was == nil || was.CrashLoop == nil {
					continue
				}
				if early := was.CrashLoop.RetryAt.Sub(e.At); early > 0 && !m.resetSince(w, was.CrashLoop.LastFailure.Instance) {
					complain(m.uid, "instance %s of VM %s was made %s before the time of the next try", in.id, m.name(), early)
				}
			}
		}
	},
}

// newFailure: the newest status is the first with its last failure.
func (m *vm) newFailure() bool {
	was := m.previous()
	return was == nil || was.CrashLoop == nil || was.CrashLoop.LastFailure.Instance != m.status().CrashLoop.LastFailure.Instance
}

func (w *world) leastDelay(failures int) time.Duration {
	delay := cmp.Or(w.config.CrashLoop.InitialDelay.Std(), 10*time.Second)
	most := cmp.Or(w.config.CrashLoop.MaxDelay.Std(), 5*time.Minute)
	for range failures - 1 {
		if delay *= 2; delay >= most {
			break
		}
	}
	return min(delay, most) * 8 / 10
}

// resetSince: a start, a restart or an edit came, or was settled, after the failure of the instance was on record.
func (m *vm) resetSince(w *world, failed string) bool {
	var since int64
	for _, s := range m.statuses {
		if s.value.CrashLoop != nil && s.value.CrashLoop.LastFailure.Instance == failed {
			since = s.rev
			break
		}
	}
	return m.askedSince(w, since)
}
