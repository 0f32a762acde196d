package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// How a member's driver lets its session renew its terms (rules seen-not-assumed, owned-through-its-session and answer-for-your-writes): what it
// tells the machines of beats, and what it does about locks that it should not hold.

// renewals says of each member and election what keeps terms alive: all alike, or members
// of both settings side by side. A lock that is shared is renewed by itself.
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

// sawBeat takes in what the stream, or a list of it, shows of a session. Who has no use for
// a beat now is told of it before its next event.
func (i *incarnation) sawBeat(e *lock.Entry) {
	seen, ours := i.own.Seen(i.now(), e.Name, e.Record, e.Version)
	if !ours || seen.Sent <= i.beat.Sent {
		return
	}
	i.beat = seen
	i.set(&i.sightAt, seen.Sent.Add(2*i.p.h.timing.LeaseDuration))
	for _, m := range i.machines {
		if m != nil && m.state.NeedsBeats() {
			m.step(seen)
		}
	}
	i.stepSession() // it may prove that another one has lapsed
}

// blind gives the incarnation up when it holds locks through a session whose beats it has
// not seen for long: they may be stored, and then nobody else may take those locks.
func (i *incarnation) blind() {
	if i.ending == "" && slices.ContainsFunc(i.machines, func(m *part) bool {
		return m != nil && m.state.Lock.Owner == machine.Mine && m.state.Lock.Record.ThroughSession()
	}) {
		i.p.h.w.cov.saw(LeftBlind)
		i.end(machine.ReasonBlind, 0)
	}
}

// stray takes up a lock that this incarnation holds although it takes no part in its
// election any more: a write that was given up was carried out after all (rule answer-for-your-writes).
func (i *incarnation) stray(e *lock.Entry) *part {
	w := i.p.h.w
	election := slices.Index(w.elections, e.Name)
	if r := e.Record; election < 0 || i.ending != "" || r == nil || r.Holder != i.identity || !r.Bound() || !r.ThroughSession() {
		return nil
	}
	if i.disowned[election].Lock == e.Version.UID && e.Record.Mark.Beat <= i.disowned[election].Beat {
		return nil
	}
	if i.p.bursts != nil {
		if b := e.Record.Mark.Beat; b == 0 || b > i.beats[election] || e.Record.Mark.SessionUID != i.beat.UID {
			return nil
		}
		w.cov.saw(StrayReleased)
		m := i.newPart(election) // it knows of nothing but what it is shown
		m.remove()
		return m
	}
	w.cov.saw(StrayReleased)
	i.add(election)
	m := i.machines[election]
	m.removed = true
	m.step(machine.Resign{Reason: machine.ReasonRemoved})
	w.after(0, func() { i.p.deliver(fromTimer, m.forgetWhenSettled) }) // once it was shown the lock
	return m
}

// shown: the stream, or a list of it, shows a session to a member.
func (j *judge) shown(i *incarnation, e *lock.Entry) {
	f := j.members[i.identity]
	if r := e.Record; r == nil || !r.Bound() || r.Holder != i.identity {
		return
	}
	if sent, known := f.sent[e.Record.Mark.Beat]; known {
		f.shownSent = max(f.shownSent, sent)
	}
}

// validUntil is the latest deadline that a part's work may be granted now, and the rule
// that says so.
func (j *judge) validUntil(m *part) (record.Instant, string) {
	if m.takenThroughSession {
		return j.members[m.i.identity].shownSent.Add(m.cfg.Timing.Validity()), "rule seen-not-assumed"
	}
	return m.committedSent.Add(m.cfg.Timing.Validity()), "rule sending-counts"
}
