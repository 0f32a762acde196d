package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// denials are writes of one lock that do not go through, while all other requests do: the store refuses them, since members lack a
// right, or they hang. In some runs the store also refuses that a member updates one session, while it may create others.
type denials struct {
	w   *world
	rng *rand.Rand
	// until says until when a host cannot write a lock; the end of the run if it never can.
	until map[denial]int64
	every time.Duration
	// hang: the writes hang; otherwise they are refused.
	hang bool
	// sessions draws denied sessions; nil if there are none.
	sessions *rand.Rand
}

// denial is a lock that a host cannot write, or the uid of a session that it cannot update.
type denial struct {
	host *host
	lock string
}

// pickDenials picks the denials of this run, or nil. Where terms outlast an outage the writes hang: a refusal ends such a term.
func (w *world) pickDenials(rng *rand.Rand) *denials {
	hang, seldom := w.silent(), 6
	if hang {
		seldom = 2
	}
	if rng.IntN(seldom) > 0 || !hang && !w.happens(Denied) {
		return nil
	}
	every := time.Duration(float64(w.timing.LeaseDuration) * []float64{1, 3, 8}[rng.IntN(3)])
	d := &denials{w: w, rng: rng, until: map[denial]int64{}, every: every, hang: hang}
	if sessions := rand.New(rand.NewPCG(w.seed, 0xff51afd7ed558ccd)); !hang && sessions.IntN(2) == 0 {
		d.sessions = sessions
	}
	return d
}

// begin schedules the next denial.
func (d *denials) begin() {
	if d != nil {
		d.w.after(1+upTo(d.rng, 2*d.every), d.deny)
	}
}

// deny strikes one host, or all.
func (d *denials) deny() {
	w := d.w
	if w.calm {
		return
	}
	d.begin()
	d.denySession()
	l := w.locks[d.rng.IntN(len(w.locks))]
	lock := l.own.Name
	if l.moves() && d.rng.IntN(3) == 0 {
		lock = l.old.Name
	}
	until := min(w.now+int64(upTo(d.rng, 10*w.timing.LeaseDuration)), w.calmAt)
	hosts := w.hosts
	if d.rng.IntN(3) > 0 {
		n := d.rng.IntN(len(w.hosts))
		hosts = hosts[n : n+1]
		if !d.hang && d.rng.IntN(3) == 0 {
			until = w.endAt
		}
	}
	for _, h := range hosts {
		w.logf(h.name, "cannot write %s for %v", lock, time.Duration(until-w.now))
		d.until[denial{h, lock}] = max(d.until[denial{h, lock}], until)
	}
}

// denySession strikes the session of one host, if this run has such denials. A member that could never update its session does not come
// back under a new identity.
func (d *denials) denySession() {
	w := d.w
	if d.sessions == nil || d.sessions.IntN(2) == 0 {
		return
	}
	h := w.hosts[d.sessions.IntN(len(w.hosts))]
	if h.proc == nil {
		return
	}
	f := w.judge.members[h.proc.inc.identity]
	if !f.updated || f.sessionUID == "" {
		return
	}
	until := w.endAt // others end it
	if d.sessions.IntN(3) > 0 || len(w.hosts) < 3 {
		until = min(w.now+int64(upTo(d.sessions, 5*w.timing.LeaseDuration)), w.calmAt)
	}
	w.logf(h.name, "cannot update %s (%s) for %v", f.sessionName, f.sessionUID, time.Duration(until-w.now))
	d.until[denial{h, f.sessionUID}] = max(d.until[denial{h, f.sessionUID}], until)
}

// stops says whether the write is one that its host cannot do.
func (d *denials) stops(q *request) bool {
	if q.m == nil {
		return d.blocks(q.i.p.h, q.replaces.UID)
	}
	return d.blocks(q.i.p.h, q.name)
}

// blocks says whether the host cannot write the lock.
func (d *denials) blocks(h *host, lock string) bool {
	return d != nil && d.w.now < d.until[denial{h, lock}]
}

// strike picks the fate of a write that its host cannot do.
func (d *denials) strike(q *request) fate {
	switch {
	case d.hang:
		d.w.cov.saw(LockHangs)
		return []fate{requestLost, replyLost, requestLate}[d.rng.IntN(3)]
	case q.m == nil:
		d.w.cov.saw(SessionDenied)
	default:
		d.w.cov.saw(Denied)
	}
	return refused
}

// blocksElection says whether the host cannot write a lock of the election.
func (d *denials) blocksElection(h *host, e int) bool {
	l := h.w.locks[e]
	return d.blocks(h, l.own.Name) || l.moves() && d.blocks(h, l.old.Name)
}

// blocksSession says whether the host cannot update its session, but leads. While it leads by its records it keeps that session, and
// takes no other lock.
func (d *denials) blocksSession(h *host) bool {
	if !d.ofSessions() || h.proc.inc == nil {
		return false
	}
	i := h.proc.inc
	return d.blocks(h, d.w.judge.members[i.identity].sessionUID) &&
		slices.ContainsFunc(i.contests, func(m *contest) bool { return m != nil && m.leads() })
}

// lately says whether a host could not write a lock of the election, or some session, until calm, or cannot do so yet.
func (d *denials) lately(e int) bool {
	return d.ofSessions() || d != nil && d.lasts(e, d.w.calmAt)
}

// ofSessions says whether there are hosts that cannot update a session.
func (d *denials) ofSessions() bool { return d != nil && d.sessions != nil }

// forGood says whether a host can never again write a lock of the election.
func (d *denials) forGood(e int) bool { return d != nil && d.lasts(e, d.w.endAt) }

func (d *denials) lasts(e int, till int64) bool {
	l := d.w.locks[e]
	for _, h := range d.w.hosts {
		if d.until[denial{h, l.own.Name}] >= till || d.until[denial{h, l.old.Name}] >= till {
			return true
		}
	}
	return false
}

// deny picks the name that the store denies to a stream of several names, now and then, and how it does that.
func (s *stream) deny() (denied []string, why error) {
	w := s.world()
	s.denied, s.lists = "", s.lists+1
	if w.calm || len(s.names) < 2 || w.denying.IntN(4) > 0 {
		return nil, nil
	}
	s.denied = s.names[w.denying.IntN(len(s.names))]
	w.cov.saw(NameDenied)
	s.permitIn(min(upTo(w.denying, 3*w.timing.LeaseDuration), time.Duration(w.calmAt-w.now)), s.lists)
	return []string{s.denied}, lock.ErrDenied
}

// permitIn ends the denial after d, unless the stream has started over with a list. Then it starts over.
func (s *stream) permitIn(d time.Duration, lists int) {
	w := s.world()
	w.after(d, func() {
		switch {
		case s.gone() || s.lists != lists:
		case !s.open:
			s.permitIn(w.timeout, lists)
		default:
			s.open, s.brokenAt = false, s.cursor
			s.tell(lock.Event{Kind: lock.Broken, Err: lock.ErrEnded})
			s.anew()
		}
	})
}
