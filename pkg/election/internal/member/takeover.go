package member

import (
	"cmp"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// takeover says, for the log, from whom we took a lock, and why we could.
type takeover struct {
	from, why string
	// seen is when the former holder last gave a sign of life, or released, or since when there certainly was
	// none; zero for never.
	seen record.Instant
}

// sign is the last sign of life of a member: a beat of its session, with the digest of its timings, and how long the session lasts.
type sign struct {
	of      string
	at      record.Instant
	beat    uint64
	timings string
	lasts   time.Duration
}

// takeover describes the lock before we take it; nil if it is ours already, or had no holder.
func (m *Member) takeover(c *contest) *takeover {
	l := &c.state.Lock
	rec := l.Record
	t := &takeover{seen: l.LastSign()}
	switch l.Owner {
	case machine.Free:
		t.why = "released"
		if n := len(rec.History); n > 0 {
			t.from, t.why = rec.History[n-1].Who, strings.TrimPrefix(rec.History[n-1].Why, "released: ")
		}
	case machine.Orphaned:
		t.from = rec.Holder
		t.why, t.seen = "its session "+cmp.Or(m.dir.Ending(rec.Mark.Session), "has ended"), 0
		if s := m.view.Sessions[rec.Mark.Session]; s.Holder == rec.Holder && !s.Ended {
			t.why = "it could not write the lock, and disowned it"
		}
		if heard := m.heard[rec.Mark.Session]; heard.of == rec.Holder {
			t.seen = heard.at
		}
	case machine.Other:
		t.from, t.why = rec.Holder, "it did not renew in time"
	case machine.Foreign:
		t.from, t.why = rec.Holder, "claimed from a foreign elector"
	case machine.Unowned:
		if created, is := c.newLock(); is {
			return created
		}
		t.from, t.why = rec.Holder, "the lock had no known owner, and the wait is over"
	}
	if t.from == "" {
		return nil
	}
	return t
}

// fields are the fields for the log line of a term that begins now.
func (t *takeover) fields(now record.Instant) []zap.Field {
	if t == nil {
		return nil
	}
	fields := []zap.Field{zap.String("because", t.why)}
	if t.from != "" {
		fields = append([]zap.Field{zap.String("from", t.from)}, fields...)
	}
	if t.seen != 0 {
		fields = append(fields, zap.Duration("after", now.Sub(t.seen)))
	}
	return fields
}
