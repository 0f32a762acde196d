package election

import (
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// answeredFor takes in whether the store answered a request for our session. An answer counts
// once the watch has been silent for a leaseDuration; a request without an answer makes all
// earlier answers count for nothing.
func (r *realm) answeredFor(a answer) {
	silence := a.sent.Sub(r.beat.Sent)
	switch {
	case lock.OutcomeOf(a.err) == lock.Unknown:
		r.answered = 0
	case r.answered == 0 && silence >= r.cfg.Timing.LeaseDuration:
		r.answered = a.sent
	}
}

func (c *contest) holdsThroughSession() bool {
	l := &c.state.Lock
	return l.Owner == machine.Mine && l.Record.ThroughSession()
}

// stray takes up a lock that this incarnation holds although it takes part in no election
// for it: a write that was given up was carried out after all. It is released (rule answer-for-your-writes);
// nothing else would free it while our session lives.
func (r *realm) stray(s *stream, e lock.Entry) *contest {
	rec := e.Record
	if rec == nil || rec.Holder != r.identity || !rec.Bound() || !rec.ThroughSession() || r.leaving != "" {
		return nil
	}
	// Only what we wrote ourselves: a stranger's copy of one of our locks is none of ours.
	if r.isDisowned(lockName{s.store, e.Name}, e) {
		return nil
	}
	if b := rec.Mark.Beat; b == 0 || b > r.beats[lockName{s.store, e.Name}] || rec.Mark.SessionUID != r.beat.UID {
		return nil
	}
	spec := Spec{Name: rec.Election, Lock: e.Name, Locks: s.store}
	if err := spec.complete(r.cfg); err != nil {
		r.log.Warn("a lock of an election that this member does not take part in cannot be released", zap.String("lock", e.Name), zap.Error(err))
		r.disown(lockName{s.store, e.Name}, record.Disowned{Lock: e.Version.UID, Beat: r.beats[lockName{s.store, e.Name}]})
		return nil
	}
	r.log.Warn("releasing a lock of an election that this member does not take part in", zap.String("lock", e.Name))
	entrant := &entrant{spec: spec, status: newStatus(spec.Name, r.cfg.Clock), left: make(chan struct{}), removed: true, stray: true}
	c := newContest(r, entrant, spec.lockName())
	r.contests.add(c)
	s.byLock[e.Name] = c
	r.resign(c, machine.ReasonRemoved)
	return c
}

// releasesStray says whether a lock of the election is a stray that is being released.
func (r *realm) releasesStray(e *entrant) bool {
	for _, l := range e.spec.lockNames() {
		if c := r.streamOf(l.store).byLock[l.name]; c != nil && c.entrant.stray {
			return true
		}
	}
	return false
}
