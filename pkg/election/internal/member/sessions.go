package member

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// tendSession lets the session do what is due.
func (m *Member) tendSession() {
	actions, next := m.own.Step(m.now)
	m.sessionNext = next
	if at := m.own.ProvenAt(); at != m.provenAt {
		if _, lost := m.own.Lost(); at < m.provenAt && m.now < m.provenAt && m.leaving == "" && !lost {
			// Only a beat of the earlier session forgives before its time.
			m.log.Warn("another living member has the same host name: its session, which seemed left behind, is renewed; give each member a name of its own (--name, or Host in the library's Config)",
				zap.String("host", m.cfg.Host))
		}
		m.provenAt = at
		if at > m.now {
			m.log.Info("an earlier session of this host was not ended by its own member, which crashed, or lost the API server for a leaseDuration (or lives, if two members have the same host name); until this member has run for long enough, no leadership moves to it because of its rank",
				zap.Duration("for", at.Sub(m.now)))
		}
	}
	for _, a := range actions {
		switch a := a.(type) {
		case session.Write:
			if a.Beat == 0 && (m.leaving != "" || m.spares(a.Name)) {
				continue // Step asks again; a leaving member no longer knows whom to spare
			}
			m.send(asked{session: a, request: request{store: Own, name: a.Name, write: &a.Record, replaces: a.If}})
		case session.Read:
			m.send(asked{session: a, request: request{store: Own, name: a.Name}})
		default:
			panic(fmt.Sprintf("member: session asked for %T", a))
		}
	}
	if m.own.Refused(m.now) && !slices.ContainsFunc(m.contests.all, (*contest).atWork) { // what is at work still, the session does not renew
		m.own.GiveUp()
	}
	if why, lost := m.own.Lost(); lost && m.leaving == "" {
		m.log.Warn("session lost; everything stops, and the member comes back under a new identity", zap.String("reason", string(why)))
		m.leave(machine.ReasonSession)
	}
	if m.leaving != "" && len(m.contests.all) == 0 && !m.own.Over() && m.now >= m.giveUpAt {
		m.log.Warn("could not end the session in time; it will expire", zap.String("session", m.own.Name()))
		m.own.Abandon()
	}
}

func (m *Member) sessionWritten(w session.Write, a answer) {
	if a.outcome == lock.Committed {
		m.viewStale = true
		m.streamOf(Own).reaches(a.entry.Version.Revision)
		m.dir.Observe(m.now, w.Name, a.entry.Record, a.entry.Version)
	}
	if w.Beat == 0 { // another's session; the stream shows what became of it
		if a.err != nil && outcomeOf(a) != machine.Conflicted {
			m.trouble.note(endOfSession, lockName{Own, w.Name}, a.err)
		}
		return
	}
	if a.outcome != lock.Unknown {
		m.heardOf = m.now
	}
	m.trouble.note("session", lockName{Own, w.Name}, a.err)
	m.answeredFor(a)
	outcome := outcomeOf(a)
	if outcome == machine.Refused {
		m.excuse()
	}
	if errors.Is(a.err, lock.ErrInvalid) || errors.Is(a.err, lock.ErrDenied) {
		m.own.Unfit(w.Beat)
	}
	m.own.WriteDone(m.now, w.Beat, outcome, a.entry.Version)
}

// These operations may fail: the end of another member's session, and a read of our own.
const (
	endOfSession  = "end of a session"
	readOfSession = "read of our session"
)

// tendEnds notes that a session which we could not end has ended, or is gone: that trouble is over.
func (m *Member) tendEnds() {
	for _, object := range m.trouble.failing(endOfSession) {
		if !m.dir.Lasts(object.name) {
			m.trouble.note(endOfSession, object, nil)
		}
	}
}

func (m *Member) sessionRead(name string, a answer) {
	m.trouble.note(readOfSession, lockName{Own, name}, a.err)
	if a.err != nil {
		m.own.ReadFailed(m.now, name)
		return
	}
	m.answeredFor(a)
	m.viewStale = true
	if !m.dir.Read(m.now, a.sent, name, a.entry.Record, a.entry.Version) {
		m.restored()
	}
	m.own.ReadDone(name)
}

// answeredFor sets answeredAt after a request for our session. An answer counts if the watch had been
// silent for a leaseDuration when we sent the request. A request without an answer cancels earlier ones.
func (m *Member) answeredFor(a answer) {
	silence := a.sent.Sub(m.beat.Sent)
	switch {
	case lock.OutcomeOf(a.err) == lock.Unknown:
		m.answeredAt = 0
	case m.answeredAt == 0 && silence >= m.cfg.Timing.LeaseDuration:
		m.answeredAt = a.sent
	}
}

// restored gives this incarnation up: the store shows an older revision than before, so somebody reset it
// to an earlier state (rule newer-by-version).
func (m *Member) restored() {
	m.noteSetBack()
	if m.leaving == "" {
		m.leave(machine.ReasonRestored)
	}
}

// noteSetBack notes that the store was set back. The store may have forgotten members that are at work, so the next
// incarnation takes nothing until their locks have expired.
func (m *Member) noteSetBack() {
	t := m.cfg.Timing.Among(m.bounds())
	m.setBack, m.notBefore = true, max(m.notBefore, m.now.Add(t.ObserverWait(t.LeaseDuration)))
}

// tendSetBack has all contests write nothing any more once the store was set back, also if this member was leaving already.
func (m *Member) tendSetBack() {
	if !m.setBack {
		return
	}
	m.queue.forget()
	m.contests.each(func(c *contest) {
		if !c.state.Ended() {
			m.resign(c, machine.ReasonRestored)
		}
	})
}

// bounds are the longest lease and the largest drift of others that this incarnation knows, or an earlier one knew.
func (m *Member) bounds() record.Bounds {
	left := m.cfg.Heritage.bounds
	return record.Bounds{
		LeaseDuration: max(left.LeaseDuration, m.others.LeaseDuration, m.dir.LongestEver()),
		Drift:         max(left.Drift, m.others.Drift),
	}
}

// tendView steps every contest when the living members, or what they publish, changed.
func (m *Member) tendView() {
	if !m.viewStale && (m.viewNext == 0 || m.now < m.viewNext) {
		return
	}
	m.tendEnds()
	m.compare()
	view, changes := m.dir.View(m.now, m.identity)
	m.viewStale, m.viewNext = false, changes
	if reflect.DeepEqual(view, m.view) {
		return
	}
	m.view = view
	m.contests.each(func(c *contest) { m.handle(c, machine.DirectoryChanged{View: view}) })
}
