package sim

import (
	"math/rand/v2"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// This file decides what renews terms (rule seen-not-assumed), and tells the judge which beats members saw.

// pickRenewals decides for each host and election whether sessions or records renew terms: the same for all
// hosts, or a mix of both settings. Terms of shared locks are always renewed by their records.
func (w *world) pickRenewals(rng *rand.Rand) {
	mixed, session := rng.IntN(4) == 0, rng.IntN(4) > 0
	for _, h := range w.hosts {
		for e := range w.elections {
			r := record.RenewalRecord
			if mixed && rng.IntN(2) == 0 || !mixed && session {
				r = record.RenewalSession
			}
			if w.foreign[e].Sharing != machine.NotShared {
				r = record.RenewalRecord
			}
			h.renewal = append(h.renewal, r)
		}
	}
}

// shown is called when a stream, or a list of it, shows a session to a member.
func (j *judge) shown(i *incarnation, e *lock.Entry) {
	f := j.members[i.identity]
	if r := e.Record; r == nil || !r.Bound() || r.Holder != i.identity {
		return
	}
	if sent, known := f.sent[e.Record.Mark.Beat]; known {
		f.updated = f.updated || f.shownSent != 0 && sent > f.shownSent
		f.shownSent = max(f.shownSent, sent)
	}
}

// validUntil returns the latest deadline that may be granted to a contest's work now, and the rule that sets
// this limit.
func (j *judge) validUntil(m *contest) (record.Instant, string) {
	if m.takenThroughSession {
		return j.members[m.i.identity].shownSent.Add(m.timing().Validity()), "rule seen-not-assumed"
	}
	return m.committedSent.Add(m.timing().Validity()), "rule sending-counts"
}

// isSession says whether an object is a session.
func (w *world) isSession(e lock.Entry) bool { return w.electionOf(e.Name) < 0 }
