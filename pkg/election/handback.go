package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/internal/tries"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ErrNotHandedBack is what errors of Handback wrap.
var ErrNotHandedBack = errors.New("lock not handed back")

// ErrHolderLives says that the session of the lock's holder beats.
var ErrHolderLives = errors.New("its holder lives")

// Handback releases locks that dead members left, so that an elector of client-go can take them at once. A lock whose
// terms are renewed by a session states a duration of a year: such an elector would wait for it, and only members of
// Primacy look at sessions (rule the-way-back-stays-open). Only one goroutine may use it.
type Handback struct {
	Clock clock.Clock
	// Leases has the locks, and beside them the sessions that renew them. The caller may set it to the Leases of another
	// namespace between two calls of Release.
	Leases lock.Store
	// By names who asked, in the history of locks and sessions.
	By string

	// waited says for how long we have waited after the end of a session.
	waited map[sessionOf]time.Duration
}

// sessionOf names a member's session. Another member may use the session's object later.
type sessionOf struct {
	in          lock.Store
	uid, member string
}

// Release does what any member would do. If the session of the lock's holder was ended by its own member, or by others
// since it lapsed, the lock is free. If the holder was proved dead, Release waits for a lease, since the election may
// have OnDeathLease, which no object shows. It waits as long if the session's object shows another member: a stranger may
// have put that back over the session of a holder that lives. Otherwise it waits for as long as a member would, and ends
// the session. An error wraps ErrHolderLives if the session changes meanwhile.
//
// It returns whose lock it was; empty if there was nothing to do: nobody holds the lock, or its record expires by
// itself. Each read is a Get. Release tries until ctx ends.
func (h *Handback) Release(ctx context.Context, name string) (from string, err error) {
	c, leases := h.Clock, h.Leases
	fail := func(err error) (string, error) { return from, fmt.Errorf("%w: %s: %w", ErrNotHandedBack, name, err) }
	var was left
	var since, answered record.Instant
	var why tries.Why
	pause := handbackPause
	for again := 0; ; again++ {
		if again > 0 && !clock.Wait(ctx, pause) {
			return fail(why.Over(ctx))
		}
		sent := c.Now()
		now, err := lookAtLeft(ctx, leases, name)
		if err != nil {
			why.Failed(ctx, err)
			continue
		}
		if now.lock.Record == nil || now.lock.Record.Holder == "" || !now.lock.Record.Bound() || !now.lock.Record.ThroughSession() {
			return from, nil
		}
		from = now.lock.Record.Holder
		wait, no := now.wait()
		if h.waitedFor(now, wait) {
			wait = 0
		}
		pause = handbackPause
		if wait > 0 {
			pause = min(pause, wait/8)
		}
		switch {
		case no != nil:
			return fail(no)
		case since == 0 || now.lock.Version != was.lock.Version:
			since = c.Now() // a first look, or another term
		case now.session.Version != was.session.Version && now.isHolders():
			return fail(fmt.Errorf("%w: session %s has changed", ErrHolderLives, now.session.Name))
		case now.session.Version != was.session.Version && was.isHolders():
			since = c.Now() // it has ended; from now on another member may use its slot, and beat
		case sent.Sub(answered) > wait/4:
			since = c.Now() // the store may have answered nobody until now, so the holder could not beat
		}
		was, answered = now, c.Now()
		if wait > 0 && sent.Sub(since) < wait {
			why.Mended()
			continue
		}
		if now.isHolders() { // one write frees all that it renewed
			_, err = leases.Put(ctx, now.session.Name, session.EndedRecord(now.session.Record, h.By, "its session lapsed"), now.session.Version)
		} else {
			h.hasWaited(now, wait)
			if _, err = leases.Put(ctx, name, handedBack(now.lock.Record, h.By), now.lock.Version); err == nil {
				return from, nil
			}
		}
		switch {
		case err == nil:
			again = -1 // the session has ended, so the lock is free
		case errors.Is(err, lock.ErrDenied):
			return fail(err)
		default:
			why.Failed(ctx, err)
		}
	}
}

// hasWaited notes that we have waited for that long after the end of a session. One wait serves all its locks.
func (h *Handback) hasWaited(l left, out time.Duration) {
	if h.waited == nil {
		h.waited = map[sessionOf]time.Duration{}
	}
	if out > 0 {
		h.waited[h.sessionOf(l)] = out
	}
}

// waitedFor says whether we have waited for that long after the end of the lock's session.
func (h *Handback) waitedFor(l left, out time.Duration) bool {
	waited, has := h.waited[h.sessionOf(l)]
	return has && waited >= out && !l.isHolders()
}

// sessionOf is the session that the lock names.
func (h *Handback) sessionOf(l left) sessionOf {
	return sessionOf{h.Leases, l.lock.Record.Mark.SessionUID, l.lock.Record.Holder}
}

// left is a lock with the session that it names.
type left struct{ lock, session lock.Entry }

func lookAtLeft(ctx context.Context, leases lock.Store, name string) (l left, err error) {
	if l.lock, err = leases.Get(ctx, name); err != nil || l.lock.Record == nil || l.lock.Record.Mark == nil || l.lock.Record.Mark.Session == "" {
		return l, err
	}
	l.session, err = leases.Get(ctx, l.lock.Record.Mark.Session)
	return l, err
}

// isHolders says whether the session is the one that the lock names, and has not ended.
func (l left) isHolders() bool {
	s := l.session.Record
	return s != nil && l.session.Version.UID == l.lock.Record.Mark.SessionUID && s.Holder == l.lock.Record.Holder
}

// isHoldersEnd says whether the session is the one that the lock names, and has ended. A slot that shows another member, or
// another one's end, does not say that: a stranger may have put that back over the session of a member that lives (rule
// a-session-ends-once).
func (l left) isHoldersEnd() bool {
	r, s := l.lock.Record, l.session.Record
	return s != nil && l.session.Version.UID == r.Mark.SessionUID && s.Released() && s.Member != nil && s.Member.Identity == r.Holder
}

// handbackPause is the longest pause between two reads.
const handbackPause = 250 * time.Millisecond

// wait is for how long nothing may change before the lock is released.
func (l left) wait() (time.Duration, error) {
	r, s := l.lock.Record, l.session.Record
	if r.Claim != nil {
		return 0, errors.New("it is claimed from another elector, and expires by itself")
	}
	if l.isHoldersEnd() && !l.mayBeProvedDead() {
		return 0, nil
	}
	t := record.Timing{Drift: record.DefaultDrift}
	lease := r.Mark.Duration
	if s != nil && s.Mark != nil {
		lease = max(lease, s.Mark.Duration)
	}
	if s != nil && s.Member != nil {
		t.Drift = max(t.Drift, s.Member.Drift())
	}
	return t.ObserverWait(max(lease, time.Second)), nil
}

// mayBeProvedDead says whether the lock's holder was proved dead, or may have been: a slot tells of its last few dead
// only, and a stranger may have edited the proof.
func (l left) mayBeProvedDead() bool {
	if l.session.Record.Member == nil {
		return false
	}
	dead := l.session.Record.Member.Deaths
	return len(dead) >= record.MostDeaths ||
		slices.ContainsFunc(dead, func(d record.Death) bool { return d.Identity == l.lock.Record.Holder })
}

// handedBack is the record as its holder would have released it.
func handedBack(r *record.Record, by string) record.Record {
	e := session.EndedRecord(r, by, "released: handed back")
	e.HolderKey, e.HandoverTo = "", ""
	e.Mark.Key, e.Mark.WasForeign = r.Mark.Key, true
	e.History = slices.Clip(e.History)
	return e
}
