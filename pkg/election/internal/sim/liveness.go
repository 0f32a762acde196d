package sim

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// livenessBound is how long an election may be without a leader in calm. The longest way: a member
// settles with its former incarnation and rejoins (two leases, and a pause of at most one). It waits out a
// foreign holder that a stranger wrote (two leases and drift), and the turn of a nominee that never comes.
// Its requests take their time. Beside foreign electors it waits out a dead one and then claims the lock,
// which takes until that one has certainly stopped. Istio's electors get the lock
// for one poll, and one may take it just then and die.
func (w *world) livenessBound() time.Duration {
	t, lease := w.timing, 5*w.timing.LeaseDuration
	for e, theirs := range w.foreignLease {
		if w.shared(e) {
			stops := w.foreign[e].StopsAfter(w.timing.LeaseDuration, theirs)
			lease = max(lease, 4*w.timing.LeaseDuration+2*stops)
		}
		if w.foreign[e].Sharing == machine.SharedWithIstio {
			lease = max(lease, 4*w.timing.LeaseDuration+4*theirs+40*time.Second)
		}
	}
	if w.options.Class == Moves {
		lease *= 2 // a member may have to wait for the holder of each of two locks
		if w.denials != nil {
			lease *= 2 // members that may not write the second lock hold the first one in turn
		}
	}
	if w.denials.ofSessions() {
		lease *= 2 // a member with such a session comes back only once it has lapsed
	}
	if w.meddler != nil && w.meddler.longest {
		lease *= 3 // members wait twice for what they believe to last two leases
	}
	return t.ObserverWait(t.ObserverWait(max(lease, w.strangersWait()))) + 3*t.NominateDelay + 4*w.timeout + 2*time.Second
}

// strangersWait is how long foreign names written by strangers keep a lock, now or earlier in calm: for the
// duration, and then for the claim, until such an elector has certainly stopped.
func (w *world) strangersWait() time.Duration {
	l := &w.judge.liveness
	for lock, d := range l.foreign {
		if d > 0 && !w.judge.forgotten(lock) {
			l.strangers = max(l.strangers, 2*w.timing.LeaseDuration+d+machine.Foreigners{}.StopsAfter(0, d))
		}
	}
	return l.strangers
}

// said notes how long the elector that is not ours may hold the lock of that name, by the record that is stored now.
// The duration may be that of a claim of ours over which a stranger wrote a foreign name, or which no longer fits its mark, or has none.
// A member remembers it until it sees that a living member of ours holds the lock, even if the lock is deleted and made anew.
func (j *judge) said(lock string, r *record.Record) {
	l := &j.liveness
	if j.forgotten(lock) {
		l.foreign[lock] = 0
	}
	ours := held(r) && r.Claim == nil && j.lives(r.Holder)
	switch {
	case !ours:
		delete(l.heldSince, lock)
	case l.heldSince[lock] == 0:
		l.heldSince[lock] = j.w.now
	}
	switch {
	case r == nil, ours:
	case r.Holder != "" && !record.OurForm(r.Holder):
		l.foreign[lock] = max(l.foreign[lock], r.Duration)
	case r.Holder != "" && !r.Bound() && r.Claim != nil && r.Duration <= record.MaxLeaseDuration: // a stranger edited it
		l.foreign[lock] = max(l.foreign[lock], r.Duration)
	case r.Claim != nil:
		l.foreign[lock] = max(l.foreign[lock], r.Claim.Duration)
	}
}

// forgotten says whether all members have certainly seen that living members of ours held the lock for long: what came back sooner may have
// come while some of them were cut off.
func (j *judge) forgotten(lock string) bool {
	since, is := j.liveness.heldSince[lock]
	return is && time.Duration(j.w.now-since) > 2*j.w.timing.LeaseDuration
}

// lives says whether the incarnation with that identity goes on.
func (j *judge) lives(identity string) bool {
	f := j.members[identity]
	return f != nil && !f.i.p.dead && f.i.p.inc == f.i
}

// preferenceBound is how long the leader may stay although it sees a living, proven, ready member that it
// should drain for.
func (w *world) preferenceBound() time.Duration {
	t := w.timing
	for _, h := range w.hosts {
		for e := range w.elections {
			of := h.settings(e).Timing
			t.PreemptDelay, t.MinHold = max(t.PreemptDelay, of.PreemptDelay), max(t.MinHold, of.MinHold)
		}
	}
	return t.ObserverWait(max(t.PreemptDelay, t.MinHold)+t.PreemptDelay) + 2*w.timeout
}

// calmTerms is how many terms an election may see in calm: the first one, and moves to members that came
// back after they had failed or had not been ready.
const calmTerms = 6

// termsInCalm is calmTerms, or more if a nominee may need longer to answer than the others wait for it: such a nominee is
// tried again, at doubling intervals. So is one that could not write the lock. It is also more for an election with ranges if
// members have different timings: they do not agree on how long a fallen member stays on probation. One moves the lock to that
// member, but must wait until its range is over, and by then another one may take the expired lock. And it is more if a stranger wrote
// the name of an elector that is not ours: members that saw it wait long for such electors, and others do not.
func (w *world) termsInCalm(e int) int {
	patience, slow, alike := w.timing.NominateDelay, time.Duration(0), true
	for _, h := range w.hosts {
		t := h.settings(e).Timing
		patience, slow = min(patience, t.NominateDelay), max(slow, h.link.most)
		alike = alike && !h.seenForeign(e) && (!w.locks[e].ranged || t.StandDown == w.hosts[0].settings(e).Timing.StandDown)
	}
	if alike && !w.denials.lately(e) && 2*slow+2*time.Millisecond < patience { // the event and the write
		return calmTerms
	}
	return calmTerms * len(w.hosts)
}

// seenForeign says whether the member has seen the name of an elector that is not ours in the election's lock.
func (h *host) seenForeign(e int) bool {
	if h.proc == nil || h.proc.inc == nil || h.proc.inc.contests[e] == nil {
		return false
	}
	state := h.proc.inc.contests[e].state()
	return state != nil && state.Lock.SeenForeign()
}

// alike says whether every living member takes part in the election, and can. If one that takes no part outranks
// those that do, each leader drains for it in vain, at doubling intervals: no member knows in which
// elections another takes part, or which locks it may not write.
func (w *world) alike(e int) bool {
	for _, h := range w.hosts {
		if h.proc != nil && !h.takesPart[e] {
			return false
		}
	}
	return !w.locks[e].moves() && !w.denials.forGood(e)
}

// liveness is what the judge of liveness keeps.
type liveness struct {
	calmAt int64
	// strangers is the highest strangersWait so far.
	strangers time.Duration
	// foreign is what said has noted of each lock; in a migration an election has two.
	foreign map[string]time.Duration
	// heldSince says since when living members of ours have held a lock.
	heldSince map[string]int64
	// ledAt is when each election last had a leader; at first, when faults ended.
	ledAt []int64
	// better says since when each election's leader has seen a member to drain for.
	better []betterSince
	terms  []int
}

type betterSince struct {
	leader   *contest
	identity string
	at       int64
}

func newLiveness(elections int) liveness {
	return liveness{foreign: map[string]time.Duration{}, heldSince: map[string]int64{}, ledAt: make([]int64, elections), better: make([]betterSince, elections), terms: make([]int, elections)}
}

func (j *judge) becalmed() {
	l := &j.liveness
	l.calmAt = j.w.now
	for e := range l.ledAt {
		l.ledAt[e] = j.w.now
	}
}

func (l *liveness) termStarted(w *world, m *contest) {
	if !w.calm {
		return
	}
	w.cov.Moves++
	l.terms[m.election]++
	if most := w.termsInCalm(m.election); l.terms[m.election] > most && w.alike(m.election) && !w.shared(m.election) {
		w.violate("calm", "%s: more than %d terms though nothing goes wrong", m.name, most)
	}
}

// lookEvery is how often look is called.
const lookEvery = 250 * time.Millisecond

// look judges liveness in calm.
func (j *judge) look() {
	w, l, bound := j.w, &j.liveness, j.w.livenessBound()
	for e, name := range w.elections {
		led := false
		for _, k := range j.working[e] {
			led = led || !k.asked && !k.m.i.p.dead
		}
		led = led || len(w.workingElectors(e)) > 0
		if led || !w.anyMember(e) {
			l.ledAt[e] = w.now
		}
		gap := time.Duration(w.now - l.ledAt[e])
		w.cov.LongestGap = max(w.cov.LongestGap, within(gap, bound))
		if gap > bound {
			w.violate("liveness", "%s: nobody leads for %v though nothing goes wrong", name, gap)
		}
		j.lookForBetter(e)
	}
	j.lookAtDirectories(bound)
}

// anyMember says whether the election has a living elector, or a living member whose runners have not
// failed lately. A member with failed runners may leave the lock alone for a while.
func (w *world) anyMember(e int) bool {
	for _, h := range w.hosts {
		if h.proc == nil || h.proc.leaving || !h.takesPart[e] || w.denials.blocksElection(h, e) || w.denials.blocksSession(h) {
			continue
		}
		if m := h.proc.inc.contests[e]; m == nil || m.state() == nil || m.state().Standing(m.i.now()) {
			return true
		}
	}
	for _, f := range w.electors {
		if f.election == e && f.run != nil {
			return true
		}
	}
	return false
}

// lookForBetter objects to a leader that stays although it sees a member to drain for.
func (j *judge) lookForBetter(e int) {
	w, b := j.w, &j.liveness.better[e]
	m := w.leader(e)
	who := ""
	if m != nil && !m.passedOver && !w.locks[e].moves() {
		for _, p := range m.i.member.View().Peers {
			if !j.lives(p.Identity) || j.members[p.Identity].i.member.Leaving() != "" {
				continue
			}
			if m.i.now() < m.state().FailedUntil(p.Identity, m.timing()) {
				continue
			}
			if p.Trust == machine.Proven && p.Ready && p.StandsFor(m.of()) && p.Preference == m.i.seen.Digest() &&
				m.settings.Policy.Outranks(p.Key(), m.i.p.h.key(), w.preferred[e]) {
				who = p.Identity
			}
		}
	}
	if who == "" || m != b.leader {
		*b = betterSince{leader: m, identity: who, at: w.now}
		return
	}
	if b.identity == "" {
		b.identity, b.at = who, w.now
	}
	if since := time.Duration(w.now - b.at); since > w.preferenceBound() {
		w.violate("preference", "%s: %s stays for %v though %s is better", m.name, m.i.identity, since, who)
	}
}

// lookAtDirectories objects, once calm has lasted for the bound, to a member that does not know a living
// one, or still knows one that is gone. A member that cannot update its session may be known or not: it stays while it leads by records.
func (j *judge) lookAtDirectories(bound time.Duration) {
	w := j.w
	if time.Duration(w.now-j.liveness.calmAt) < bound {
		return
	}
	for _, h := range w.hosts {
		if h.proc == nil {
			continue
		}
		peers, living := h.proc.inc.member.View().Peers, 0
		known := func(o *host) bool {
			return slices.ContainsFunc(peers, func(p machine.Peer) bool { return p.Identity == o.proc.inc.identity })
		}
		seen := 0
		for _, o := range w.hosts {
			switch {
			case o.proc == nil || o == h:
			case known(o):
				seen++
				living++
			case !w.denials.blocks(o, j.members[o.proc.inc.identity].sessionUID):
				living++
			}
		}
		if seen != living || living != len(peers) {
			w.violate("directory", "%s knows %d of %d living members, and %d in all", h.proc.inc.identity, seen, living, len(peers))
		}
	}
}

// within returns part as a fraction of whole.
func within(part, whole time.Duration) float64 { return float64(part) / float64(whole) }
