package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// contest is one incarnation's part in the contest for one lock. An election has one, or
// two while it migrates: the work of the outer one's terms is to let the inner one lead.
type contest struct {
	m        *Member
	election *Election
	lock     lockName
	// outer and inner are the other contest of a migration; nil without one.
	outer, inner *contest
	// waiting is for the new lock, in the contest for the old one; nil in others.
	waiting *waiting
	// preferred is what the machine knows of the preference.
	preferred *preferred
	// heldOff is the earliest instant at which the lock is taken after an outage.
	heldOff record.Instant
	state   machine.State
	// listed: a list that was asked for after began, when the incarnation began to take part, has
	// shown the lock. What was shown before is not taken in: it may be as old as can be.
	began  record.Instant
	listed bool
	// stray: no election here has the lock, but this member holds it. It is being released.
	stray bool
	// over: it was given up, and what still arrives for it changes nothing: the lock may be
	// that of a new contest by now.
	over bool
	// working: the work of the last term that the host was told to begin goes on.
	working bool
	// beats is which beats of our session the term goes by, as the host knows it: since when there is no
	// gap between them; zero while it goes by none.
	beats record.Instant
	// leader is the record from which the host was last told who leads, health what it was told of
	// the present term, and token that of the last one.
	leader  *record.Record
	health  *Health
	token   record.Token
	notices notices
	// alarm is what may have to be logged, and takenOver from whom the lock was taken; nil for
	// none.
	alarm     *alarm
	takenOver *takeover
	// wakeAt and slot belong to the heap of timers.
	wakeAt record.Instant
	slot   int32
	// place belongs to contests.
	place int32
}

func newContest(m *Member, election *Election, lock lockName) *contest {
	return &contest{
		m:         m,
		election:  election,
		lock:      lock,
		state:     initialState(m, lock),
		began:     m.now,
		preferred: unsynced,
		leader:    untold,
		slot:      notQueued,
	}
}

// untold is unlike all that a lock may show, nothing included: the host may know of a leader from
// before this incarnation.
var untold = &record.Record{}

// config is what the machine is told with each event. It is put together each time: kept, it
// would be half as much again as all else that an election costs.
func (c *contest) config() machine.Config {
	m, e := c.m, c.election
	own := &m.cfg
	return machine.Config{
		Election: e.Name, Group: m.cfg.Group,
		Member:      record.Member{Identity: m.identity, Revision: own.Revision, Location: own.Location, Weight: own.Weight, Standing: c.unready()},
		Timing:      e.Timing,
		Others:      m.others,
		Policy:      e.Policy,
		Bootstrap:   e.Bootstrap,
		NotBefore:   max(m.notBefore, c.heldOff),
		HolderFirst: c.awaitsHolder(),
		ProvenAt:    m.provenAt,
		Foreign:     e.Foreign,
		Range:       e.Range,
		Outage:      e.Outage,
		Outlasts:    m.outlasts(),
		Renewal:     e.Renewal,
		Sight:       c.sight(),
		Beat:        c.present(),
		Preferred:   c.preferred.revision,
		Digest:      c.preferred.digest,
		Newest:      c.newest(),
	}
}

// sight is how the lock is shown beside the sessions.
func (c *contest) sight() machine.Sight {
	if c.lock.store == Own {
		return machine.WithSessions
	}
	return machine.ApartFromSessions
}

// newest is a revision of the lock's own store: another one may count for itself. The lock that a
// migration goes to has none, for who knows the other lock alone is to go on from there: what both
// of them say is enough.
func (c *contest) newest() uint64 {
	if c.outer != nil {
		return 0
	}
	return c.m.streamOf(c.lock.store).newest
}

// initialState begins with the beats that were used, and disowned, before.
func initialState(m *Member, lock lockName) machine.State {
	return machine.Continued(m.gone[lock].beat, m.disowned[lock].Disowned)
}

func (c *contest) name() string { return c.election.Name }

// each calls f for the election's contests, the outer one first.
func (c *contest) each(f func(*contest)) {
	for _, one := range []*contest{c.outer, c} {
		if one != nil && !one.over { // of a migration that is removed one may be over before the other
			f(one)
		}
	}
}

func (c *contest) holdsThroughSession() bool {
	l := &c.state.Lock
	return l.Owner == machine.Mine && l.Record.ThroughSession()
}
