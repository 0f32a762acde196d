package session

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// EndedRecord is the record that ends a session for good: it has no holder, and the mark agrees. by is the
// identity of the member that ends it. Of the session's Member the record keeps what matters after its end.
func EndedRecord(r *record.Record, by, why string) record.Record {
	e := *r
	e.Holder = ""
	e.Duration = time.Second
	e.Acquired, e.Renewed = time.Time{}, time.Time{}
	e.Unreadable, e.Claim = "", nil
	mark := record.Mark{Transitions: r.Transitions, Beat: beatOf(r)%record.MaxToken + 1, Renewal: record.RenewalRecord}
	if r.Mark != nil {
		mark.Duration = r.Mark.Duration
	}
	mark.Duration = max(mark.Duration, time.Second)
	e.Mark = &mark
	if r.Member != nil { // what mattered only during its life, and what a stranger may have made so long that nobody can write it again
		m := *r.Member
		m.Standing, m.Open, m.Lacks, m.Lags, m.Disowned = nil, nil, nil, "", nil
		e.Member = &m
	}
	e.History = append(slices.Clone(r.History), record.Entry{Who: by, Why: why})
	e.History = e.History[max(0, len(e.History)-record.HistoryLength):]
	return e
}

// endedByOwner says whether the session's own member wrote its end.
func endedByOwner(r *record.Record) bool {
	return r.Member != nil && endedBy(r, r.Member.Identity)
}

// endedBy says whether the member with that identity wrote the end of the session.
func endedBy(r *record.Record, identity string) bool {
	return r.Released() && len(r.History) > 0 && r.History[len(r.History)-1].Who == identity
}
