package member

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// created are the elections with new locks whose wait was not logged yet, and when the longest of these waits
// is over.
type created struct {
	elections []string
	until     record.Instant
}

// leastTold is the shortest wait for a new lock that is worth a line in the log.
const leastTold = time.Second

// waitsFor notes that nobody takes the contest's lock, which was just created, before the instant until.
func (m *Member) waitsFor(c *contest, until record.Instant) {
	if until >= m.now.Add(leastTold) {
		m.created.elections = append(m.created.elections, c.name())
		m.created.until = max(m.created.until, until)
	}
}

// tendCreated logs for how long new locks are waited out. Thousands may be created at once, so one line has
// all of a step.
func (m *Member) tendCreated() {
	if n := len(m.created.elections); n > 0 {
		m.log.Info(WaitsForNew, zap.Int("number", n), zap.Strings("elections", m.created.elections[:min(n, mostTold)]),
			zap.Duration("for", m.created.until.Sub(m.now)))
		m.created = created{}
	}
}

// newLock says for the log why we may take a lock that nobody ever held, as far as anybody knows; it returns
// false if we need no proof.
func (c *contest) newLock() (t *takeover, proven bool) {
	l := &c.state.Lock
	if !l.Record.Untouched() || c.election.Bootstrap == machine.BootstrapImmediate {
		return nil, false
	}
	if at := l.AbsentSince(); at != 0 && at < l.LastSign() {
		return &takeover{why: "the lock is new, and the watch had shown that it was absent", seen: at}, true
	}
	return &takeover{why: "the lock is new, and the wait is over", seen: l.LastSign()}, true
}
