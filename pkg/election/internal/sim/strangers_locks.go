package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The class PutBack: a stranger puts a lock back as it was in an earlier term, or between two, as from a backup. Often the lock's
// leader is cut off then, and often something else takes its record away a moment before. Some ambushes put back the record of the last
// other holder.

// putLockBack puts a lock back, or does so a moment after another edit of it.
func (w *world) putLockBack() bool {
	e := w.someElection()
	name := w.elections[e]
	if w.locks[e].ranged || w.bootstrap[e] == machine.BootstrapImmediate {
		return false // who takes such a lock need not have waited
	}
	former := w.formerly(name)
	if len(former) == 0 {
		return false
	}
	if leader := w.leader(e); leader != nil && w.chance(0.7) {
		leader.i.p.h.cutOff(w.between(w.timing.LeaseDuration/4, w.timing.LeaseDuration))
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

// cutOff cuts the host off from the store for a while. Then its streams begin anew.
func (h *host) cutOff(d time.Duration) {
	h.proc.inc.stream.cut(CutRelisted, d)
	h.link.deafUntil = h.w.now + int64(d)
	h.out(requestLost, requestLost, d)
}

// robs says whether this ambush, in the class PutBack, robs the present holder of the lock: the holder is cut off, and the record of the
// last other holder comes back. Often that one was cut off as it released the lock.
func (w *world) robs(e int) bool {
	if w.options.Class != PutBack || w.locks[e].ranged || w.robber.IntN(2) == 0 {
		return false
	}
	leader := w.leader(e)
	if leader == nil {
		return false
	}
	former := w.formerly(w.elections[e])
	i := slices.IndexFunc(former, func(r *record.Record) bool { return r.Holder != "" && r.Holder != leader.i.identity })
	if i < 0 {
		return false
	}
	leader.i.p.h.cutOff(w.timing.LeaseDuration/2 + upTo(w.robber, w.timing.LeaseDuration))
	w.cov.saw(HolderRobbed)
	return w.putBackAs(w.elections[e], former[i])
}

// formerly is what members of ours once wrote to the lock.
func (w *world) formerly(name string) []*record.Record {
	var former []*record.Record
	shared := w.shared(w.electionOf(name))
	for _, c := range slices.Backward(w.store.history) {
		r := c.entry.Record
		if c.entry.Name == name && r != nil && r.Bound() && r.Claim == nil && (r.Holder != "" || !shared) { // an elector takes what is free at once
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
	for _, f := range w.electors {
		if f.run != nil && w.elections[f.election] == name && specOf(r) == f.run.raw {
			return false // to this elector the lock looks as if nobody had renewed it meanwhile
		}
	}
	w.logf("world", "%s: a stranger puts back what %q wrote with token %d", name, r.Holder, r.Token)
	again := *r
	w.store.commit(w.now, name, &again, uid)
	w.judge.putBackAt[name] = w.store.revision
	w.judge.beats[name].byRecord = false // it is no beat of its holder
	return true
}

// shownTerm is a term as a lock's record shows it.
type shownTerm struct {
	lock, holder string
	token        record.Token
}

// unknowing says whether a stranger has put the lock back since the term's take, or the session of its holder, and the member was never
// shown the term or that session. What a process was shown of a term counts for all its contests and incarnations.
func (m *contest) unknowing(holder string, token record.Token) bool {
	w := m.i.p.h.w
	if w.options.Class != PutBack || m.i.p.shownTerms[shownTerm{m.name, holder, token}] && m.i.shownSessions[holder] {
		return false
	}
	session := ""
	if f := w.judge.members[holder]; f != nil {
		session = f.sessionName
	}
	if since := uint64(token); w.judge.putBackAt[m.name] <= since && w.judge.putBackAt[session] <= since { // #nosec G115 -- tokens are not negative
		return false
	}
	w.cov.saw(OverlapUnknowing)
	return true
}
