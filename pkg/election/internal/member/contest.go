package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// contest is one incarnation's part in the contest for one lock. An election has one contest. While it
// migrates it has two, outer and inner: the inner one may lead only while the outer one leads (migrate.go).
type contest struct {
	m        *Member
	election *Election
	lock     lockName
	// In a migration, outer is set in the inner contest, and inner in the outer one; else both are nil.
	outer, inner *contest
	// waiting is the old lock's wait for the new one (turned.go); nil except in the outer contest.
	waiting *waiting
	// preferred is the preference that the machine knows.
	preferred *preferred
	// heldOff is the earliest instant at which the lock may be taken after an outage, if no member of ours released it.
	heldOff record.Instant
	state   machine.State
	// began is when the incarnation began to take part. listed: a list that we requested after began has
	// shown the lock. Until then we ignore what the stream shows: it may be arbitrarily old.
	began  record.Instant
	listed bool
	// stray: this member holds the lock although none of its elections uses it. We are releasing it.
	stray bool
	// over: the contest was given up. We ignore what still arrives for it: the lock may belong to a new
	// contest by now.
	over bool
	// working: the work of our last Start has not returned yet.
	working bool
	// mute: the last request for the lock got no answer, so that the next one waits for others (queue.go).
	mute bool
	// jeopardy and open: the host got that Notice of the present term, Jeopardy or FailOpen. noticeAt is when to
	// look again; zero for never (notices.go).
	jeopardy, open bool
	noticeAt       record.Instant
	// beats is the Since of the beats that the term follows, as we told the host; zero while the term does
	// not follow the beats.
	beats record.Instant
	// leader is the record that we last reported to the host as the leader's, health what we told it of
	// the present term, and token that of the last Start.
	leader *record.Record
	health *Health
	token  record.Token
	// alarm is a condition to log if it lasts. takenOver describes from whom we are taking the lock, for
	// the log. Both nil for none.
	alarm     *alarm
	takenOver *takeover
	// wakeAt and slot belong to the heap of timers.
	wakeAt record.Instant
	slot   int32
	// place is the index in contests.all.
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

// untold differs from every record of a lock, and from nil: the first step must report the leader, since
// the host may know another one from before this incarnation.
var untold = &record.Record{}

// config is the machine's configuration for one event. It is built each time: to keep it would raise the
// memory of an election by half.
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
		NotBefore:   m.notBefore,
		HolderFirst: c.awaitsHolder(),
		HeldOff:     c.heldOff,
		ProvenAt:    m.provenAt,
		Foreign:     e.Foreign,
		Inner:       c.outer != nil,
		Range:       e.Range,
		Outage:      e.Outage,
		OnDeath:     e.OnDeath,
		Outlasts:    m.outlasts(),
		Renewal:     e.Renewal,
		Sight:       c.sight(),
		Beat:        c.present(),
		Preferred:   c.preferred.revision,
		Digest:      c.preferred.digest,
		LongestEver: m.dir.LongestEver(),
		Unpublished: m.unpublished.has(c),
		Newest:      c.newest(),
	}
}

// sight says whether one stream shows both the lock and the sessions, and whether the sessions that we see are those
// that may renew the lock: these are in the lock's own place.
func (c *contest) sight() machine.Sight {
	switch {
	case c.lock.store == Own:
		return machine.WithSessions
	case c.lock.store.Place != "":
		return machine.WithoutSessions
	}
	return machine.ApartFromSessions
}

// newest is the newest revision that we saw of the lock's own store; each store may count by itself. It
// is zero for the new lock of a migration: there a term's token is the larger token of both locks, and a
// member that knows only the old lock, and derives its tokens from that lock's version, must be able to
// exceed it. The old lock's token already covers the newest revision of the old lock's store.
func (c *contest) newest() uint64 {
	if c.outer != nil {
		return 0
	}
	return c.m.streamOf(c.lock.store).newest
}

// initialState continues from the last number that we gave to a write of this lock, from the writes to it that we
// disowned, and from who may be at work under it. We may have known the lock by another store.
func initialState(m *Member, lock lockName) machine.State {
	return machine.Continued(m.goneOf(lock).beat, latestOf(m, m.disowned, lock).Disowned, latestOf(m, m.unshown, lock).Unshown)
}

func (c *contest) name() string { return c.election.Name }

// each calls f for the election's contests, the outer one first.
func (c *contest) each(f func(*contest)) {
	for _, one := range []*contest{c.outer, c} {
		if one != nil && !one.over { // a removed migration may end one before the other
			f(one)
		}
	}
}

func (c *contest) holdsThroughSession() bool {
	l := &c.state.Lock
	return l.Owner == machine.Mine && l.Record.ThroughSession()
}
