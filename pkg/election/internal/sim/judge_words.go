package sim

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// spoken judges the end of a session on somebody's word (rule words-need-silence). was is the record that the end
// replaced. Nobody proves a word, so a word about a member whose work goes on is the speaker's error, and the judge
// excuses what follows from it: what the member's session renewed has two at work. Nothing else does.
func (j *judge) spoken(p *speaker, how decision, was *record.Record, uid string) {
	w, said := j.w, p.death
	if j.restored() {
		return
	}
	f := j.members[was.Holder]
	if f == nil || was.Holder != said.Identity {
		w.violate("rule words-need-silence", "%s: a word about %s ends the session of %q", p.name, said.Identity, was.Holder)
		return
	}
	h := f.i.p.h
	silent := how.silence(f.i.timing)
	switch {
	case !slices.Contains(h.accepts, said.Proof):
		w.violate("rule proof-not-patience", "%s: %s does not accept the word of %s", p.name, said.Identity, said.Proof)
	case f.beatAt[p.name] > p.saidAt:
		w.violate("rule words-need-silence", "%s: %s beat %v after the word that ends its session", p.name, said.Identity, time.Duration(f.beatAt[p.name]-p.saidAt))
	case silent < 2*f.i.timing.RenewInterval-time.Millisecond:
		w.violate("rule words-need-silence", "%s: %s was silent for %v only, as anybody could know", p.name, said.Identity, silent)
	}
	if f.sessionUID == uid {
		f.sessionEnded = true
	}
	switch proc := f.i.p; {
	case !proc.dead:
		w.cov.saw(BuriedAlive)
		f.wronged = true
	case proc.works():
		w.cov.saw(BuriedHalfDead)
		f.wronged = true
	default:
		w.cov.saw(BuriedOnWord)
	}
}

// decision is what a speaker could know when it sent the end of a session. The store may carry the write out later.
type decision struct {
	at, since           int64
	awayFrom, awayUntil int64
}

func (p *speaker) decides() decision {
	return decision{p.s.w.now, max(p.begunAt, p.failedAt), p.s.awayFrom, p.s.awayUntil}
}

// silence is for how long the session was silent, as anybody could know.
func (d decision) silence(t record.Timing) time.Duration {
	since := d.since
	if time.Duration(d.awayUntil-d.awayFrom) > noticedAway(t) { // a shorter one may fall between two reads
		since = max(since, min(d.awayUntil, d.at))
	}
	return time.Duration(d.at - since)
}

// noticedAway is how long the store may answer nobody such that a speaker does not notice.
func noticedAway(t record.Timing) time.Duration {
	return time.Duration((1+2*drift)*float64(t.RenewInterval)) + time.Second
}

// wronged says whether the contest's member was said to be dead while it was not, and its session renews the term. With
// OnDeathLease others wait for a lease even then.
func (j *judge) wronged(m *contest) bool {
	f := j.members[m.i.identity]
	return f != nil && f.wronged && m.takenThroughSession && !j.w.alwaysForALease(m.election)
}

// excusedByWord says whether a false word excuses that two are at work.
func (j *judge) excusedByWord(a, b *work) bool {
	if !j.wronged(a.m) && !j.wronged(b.m) {
		return false
	}
	j.w.cov.saw(OverlapByWord)
	return true
}
