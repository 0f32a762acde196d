package sim

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The class PutBack: a stranger puts a lock back as it was in an earlier term, or between two, as from a backup. Often the lock's
// leader is cut off then, and often something else takes its record away a moment before.

// putLockBack puts a lock back, or does so a moment after another edit of it.
func (w *world) putLockBack() bool {
	e := w.someElection()
	name := w.elections[e]
	if w.shared(e) || w.locks[e].ranged || w.bootstrap[e] == machine.BootstrapImmediate {
		return false // who takes such a lock need not have waited
	}
	former := w.formerly(name)
	if len(former) == 0 {
		return false
	}
	if leader := w.leader(e); leader != nil && w.chance(0.7) {
		blind := w.between(w.timing.LeaseDuration/4, w.timing.LeaseDuration)
		leader.i.stream.cut(CutRelisted, blind)
		leader.i.p.h.link.deafUntil = w.now + int64(blind)
		leader.i.p.h.out(requestLost, requestLost, blind)
	}
	if w.chance(0.5) {
		if w.chance(0.3) {
			w.deleteAt(e)
		} else {
			w.edit(name, MarkRemoved, func(_ *world, r *record.Record) { r.Mark = nil })
		}
		w.after(w.upTo(w.timing.LeaseDuration/4), func() { w.putBackAs(name, pick(w, former)) })
		return true
	}
	return w.putBackAs(name, pick(w, former))
}

// formerly is what members of ours once wrote to the lock.
func (w *world) formerly(name string) []*record.Record {
	var former []*record.Record
	for _, c := range slices.Backward(w.store.history) {
		if r := c.entry.Record; c.entry.Name == name && r != nil && r.Bound() && r.Claim == nil {
			if former = append(former, r); len(former) == 50 {
				break
			}
		}
	}
	return former
}

func (w *world) putBackAs(name string, r *record.Record) bool {
	if w.calm {
		return false
	}
	uid := ""
	if at, exists := w.store.find(name); exists {
		if uid = w.store.objects[at].Version.UID; same(w.store.objects[at].Record, r) {
			return false
		}
	} else {
		w.store.created++
		uid = fmt.Sprintf("uid%d", w.store.created)
	}
	w.logf("world", "%s: a stranger puts back what %q wrote with token %d", name, r.Holder, r.Token)
	again := *r
	w.store.commit(w.now, name, &again, uid)
	w.judge.beats[name].byRecord = false // it is no beat of its holder
	return true
}

// shownTerm is a term as a lock's record shows it.
type shownTerm struct {
	holder string
	token  record.Token
}

// unknowing says whether the member was never shown the term, or the session of its holder, and a stranger may have put the lock back,
// or the session.
func (m *contest) unknowing(holder string, token record.Token) bool {
	if m.i.p.h.w.options.Class != PutBack || m.shownTerms[shownTerm{holder, token}] && m.i.shownSessions[holder] {
		return false
	}
	m.i.p.h.w.cov.saw(OverlapUnknowing)
	return true
}
