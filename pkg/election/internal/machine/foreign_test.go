package machine

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// elector is an elector that is not ours. It does what client-go's or Istio's electors do: it sees the lock
// when it polls, and waits on its own clock. It notices the loss of the lock only when its next write is
// rejected, and works on until its renewDeadline.
type elector struct {
	name     string
	key      record.Key
	steals   bool
	duration time.Duration
	// observed is what it saw last, and at is when it first saw that.
	observed record.Record
	at       record.Instant
	// until is when its work ends without a renewal.
	until record.Instant
	// transitions are those of its last tenure.
	transitions int
	// began is the store's revision at which its present work began.
	began uint64
	// shown: we have seen it hold the lock, last at the revision shownAt.
	shown   bool
	shownAt uint64
}

// stamp is a time that no write before had.
func (w *world) stamp() time.Time {
	w.stamps++
	return time.Unix(w.stamps, 0)
}

// newForeignWorld is a world that we share with foreign electors.
func newForeignWorld(t *rapid.T) *world {
	w := newWorld(t)
	w.cfg.Bootstrap = BootstrapWait
	istio, lease := rapid.Bool().Draw(t, "istio"), w.cfg.Timing.LeaseDuration
	for i := range 2 {
		e := &elector{name: fmt.Sprintf("client-go-%d", i), steals: istio, duration: lease}
		if istio {
			e.name, e.key = fmt.Sprintf("istiod-%d", i), rapid.SampledFrom([]record.Key{"stable", "canary", "^stable"}).Draw(t, "key")
		}
		if rapid.IntRange(0, 3).Draw(t, "slow") == 0 {
			// A newcomer that sees only what such an elector leaves cannot know its duration: our
			// configuration must say it.
			e.duration = 4 * lease
			w.cfg.Foreign.Wait = 6 * lease
		}
		w.electors = append(w.electors, e)
	}
	w.cfg.Foreign.Sharing = SharedWithClientGo
	if istio {
		w.cfg.Foreign.Sharing = SharedWithIstio
	}
	return w
}

// foreignActions are what may happen in a world with foreign electors. Nobody forges our records or restores
// the store here: no member could detect that (see the project's guarantee).
func (w *world) foreignActions() map[string]func(*rapid.T) {
	actions := w.actions()
	delete(actions, "restore")
	actions["stranger"] = func(t *rapid.T) { w.foreignStranger(t) }
	actions["peer at the lock"] = func(t *rapid.T) { w.peerAtLock(t) }
	for _, e := range w.electors {
		actions["poll "+e.name] = func(t *rapid.T) { w.poll(t, e) }
		actions["poll again "+e.name] = func(t *rapid.T) { w.poll(t, e) }
		actions["cancel "+e.name] = func(t *rapid.T) { w.cancel(t, e) }
	}
	return actions
}

// poll: the elector looks at the lock, and renews, takes or steals it.
func (w *world) poll(t *rapid.T, e *elector) {
	r := w.latest().record
	if r == nil {
		r = &record.Record{Transitions: -1}
	}
	if seen := foreignPart(r); seen != foreignPart(&e.observed) || e.at == 0 {
		e.observed, e.at = *r, w.now
	}
	working := w.working || w.stopping
	switch {
	case r.Holder == e.name, r.Holder == "":
	case w.now >= e.at.Add(r.Duration):
		asWritten := r.Bound() && r.Duration >= r.Mark.Duration // if not, a stranger shortened it
		if working && w.now < w.deadline && r.Holder == w.cfg.Member.Identity && asWritten {
			w.found("%s takes what expired while we work until %v", e.name, w.deadline)
		}
		if r.Holder == w.cfg.Member.Identity && asWritten && r.Claim != nil && !e.steals && e.until <= w.now && w.suspected() {
			w.found("%s takes a claim of ours while another one works", e.name)
		}
	case e.steals && w.cfg.Preferred == record.Prefer(e.key.Revision()) && r.HolderKey.Revision() != e.key.Revision():
	default:
		t.Skip()
	}
	next := *r
	next.Holder, next.HolderKey, next.Duration, next.Renewed = e.name, e.key, e.duration, w.stamp()
	if e.key == "" {
		next.HolderKey = r.HolderKey // an elector that knows no keys keeps what there is
	}
	if r.Holder != e.name {
		next.Transitions, next.Acquired = r.Transitions+1, next.Renewed
	}
	stored := w.store(&next)
	e.observed, e.at, e.transitions = next, w.now, next.Transitions
	if e.until <= w.now {
		e.began = stored.version.Revision
	}
	// 12 s of 15 s, and 10 s more where the reply was slow.
	e.until = w.now.Add(e.duration * rapid.SampledFrom([]time.Duration{12, 22}).Draw(t, "reply") / 15)
}

// cancel: the elector stops, which ends its work at once. It blanks the lock, whoever holds it, unless it
// has noticed another holder.
func (w *world) cancel(t *rapid.T, e *elector) {
	r := w.latest().record
	if e.until <= w.now || r == nil || e.observed.Holder != e.name || rapid.Bool().Draw(t, "stays") {
		t.Skip()
	}
	for _, other := range w.electors {
		blanked := other != e && other.name == r.Holder && !e.shown
		if blanked || other != e && other.until > w.now && !other.shown {
			t.Skip() // at this release we could not suspect an elector that we never saw
		}
	}
	next := *r
	next.Holder, next.Duration, next.Renewed = "", time.Second, w.stamp()
	next.Acquired = next.Renewed
	w.store(&next)
	e.until = w.now
}

func (w *world) electorNamed(name string) *elector {
	for _, e := range w.electors {
		if e.name == name {
			return e
		}
	}
	return nil
}

// foreignPart is the part of a record that a foreign elector compares.
func foreignPart(r *record.Record) string {
	return fmt.Sprint(r.Holder, r.Duration, r.Transitions, r.Renewed.Unix(), r.Acquired.Unix())
}

// peerAtLock: another member of ours writes the lock, by the rules.
func (w *world) peerAtLock(t *rapid.T) {
	e := &environment{object: w.latest().record, version: w.latest().version}
	if e.object == nil {
		t.Skip()
	}
	w.stamps++
	a := arguments{
		"by": "p1", "beat": fmt.Sprint(w.stamps),
		"to": rapid.SampledFrom([]string{"m1", ""}).Draw(t, "to"),
	}
	last := ""
	for _, f := range w.electors {
		if f.until > w.now {
			last = fmt.Sprintf("%s/%d/%v", f.name, f.transitions, f.duration)
		}
	}
	if last != "" {
		a["claim"] = last
	}
	r := e.object
	ours := r.Bound() && r.Holder != ""
	switch kind := rapid.SampledFrom([]string{"held", "held", "free"}).Draw(t, "kind"); {
	case kind == "free" && (!ours || r.Holder == w.cfg.Member.Identity), r.Holder == w.cfg.Member.Identity && r.Bound():
		t.Skip()
	case kind == "held" && !ours && r.Holder == "" && r.Mark == nil && last == "":
		t.Skip()
	default:
		made := e.made(kind, a)
		made.Renewed = w.stamp()
		w.store(made)
	}
}

func (w *world) foreignStranger(t *rapid.T) {
	r := w.latest().record
	if r == nil {
		t.Skip()
	}
	edited := *r
	switch rapid.SampledFrom([]string{"delete", "label", "blank", "duration", "claim", "unreadable", "empty"}).Draw(t, "kind") {
	case "delete":
		w.store(nil)
		return
	case "blank":
		edited.Holder = ""
	case "duration":
		edited.Duration = time.Second
	case "claim":
		if !r.Bound() || r.Holder == "" {
			t.Skip()
		}
		edited.Claim = &record.Claim{Identity: "nobody", Duration: time.Second}
		if r.Claim != nil { // another name for it would be a forgery
			*edited.Claim = *r.Claim
			edited.Claim.Duration = time.Second
		}
	case "unreadable":
		edited.Unreadable = "json"
	case "empty":
		edited = record.Record{}
	}
	w.store(&edited)
}

// found notes a finding of the judge: an elector worked while another elector did.
func (w *world) found(format string, args ...any) {
	if w.verdict == nil {
		w.t.Fatalf(format, args...)
	}
	if *w.verdict == "" {
		*w.verdict = fmt.Sprintf(format, args...)
	}
}

// foreignAtWork judges the start of a term of ours whose take was stored at the revision taken: no elector
// that began before may be at work. One that began later stole the lock.
func (w *world) foreignAtWork(taken uint64) {
	for _, e := range w.electors {
		if e.until > w.now && e.began < taken {
			w.found("started at %s while %s works until %s", seconds(w.now), e.name, seconds(e.until))
		}
	}
}

// suspected says whether a foreign elector is at work, and the member has seen it since its work began.
func (w *world) suspected() bool {
	return slices.ContainsFunc(w.electors, func(e *elector) bool { return e.until > w.now && e.shownAt >= e.began })
}

// claimLasts says whether the member holds a claim that it must repeat in what it writes.
func (w *world) claimLasts() bool {
	s := newStep(w.cfg, w.state, w.now)
	return s.Role == Claiming && s.claimLasts()
}

// TestForeignElectors checks that the machine keeps rule claim-and-wait, in every schedule, among electors
// with rules of their own: none of them works when a term of ours begins, and none finds our record expired
// before our work is dead.
func TestForeignElectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newForeignWorld(t)
		t.Repeat(w.foreignActions())
		w.t = t
		w.calm()
	})
}

// TestForeignJudge checks that the judge of TestForeignElectors finds a machine that does not wait for foreign
// electors, and one that relies on its lock for much longer than it wrote.
func TestForeignJudge(t *testing.T) {
	for complaint, plant := range map[string]func(*world){
		"started at": func(w *world) { w.cfg.Foreign.Wait = time.Nanosecond },
		"takes what expired": func(w *world) {
			w.cfg.Timing.Drift = -9 // it relies on ten times what it wrote
		},
	} {
		verdicts := rapid.Custom(func(t *rapid.T) string {
			w, verdict := newForeignWorld(t), ""
			w.verdict = &verdict
			plant(w)
			t.Repeat(w.foreignActions())
			return verdict
		})
		found := ""
		// In short runs each seed has fewer steps, so that some plants need many seeds.
		for seed := 0; seed < 30000 && !strings.Contains(found, complaint); seed++ {
			found = verdicts.Example(seed)
		}
		if !strings.Contains(found, complaint) {
			t.Errorf("%q was never found", complaint)
		}
	}
}

// TestSuspectsAreBounded checks that, however many foreign electors held the lock, we remember few, and no
// term begins until the slowest of all has stopped.
func TestSuspectsAreBounded(t *testing.T) {
	e := newEnvironment(io.Discard)
	e.run("member m1")
	e.run("stored foreign by=f-slow duration=500s")
	e.run("list")
	slowest := e.now.Add(e.cfg.Timing.ObserverWait(1000 * time.Second))
	for i := range 50 {
		e.run(fmt.Sprintf("stored foreign by=f-%d", i))
		e.run("stream")
		if n := len(e.state.foreign.suspects); n > maxSuspects {
			t.Fatalf("%d suspects", n)
		}
	}
	if s := newStep(e.cfg, e.state, e.now); s.claimOver() < slowest {
		t.Errorf("over at %v, but one may work until %v", s.claimOver(), slowest)
	}
}

// TestManySuspectsAreOne checks that, when there are too many foreign electors to remember each, we wait for
// the earlier ones whatever we hear of the latest.
func TestManySuspectsAreOne(t *testing.T) {
	shownAs := func(holder string) *record.Record { return &record.Record{Holder: holder, Duration: memberLease} }
	fill := func(options ...string) *environment {
		e := newEnvironment(io.Discard)
		e.run("member m1")
		e.run("stored foreign by=f-slow duration=500s " + strings.Join(options, " "))
		e.run("list")
		for i := range maxSuspects - 1 {
			e.run(fmt.Sprintf("stored foreign by=f-%d", i))
			e.run("stream")
		}
		return e
	}
	waits := func(t *testing.T, e *environment, slowest record.Instant) {
		t.Helper()
		if s := newStep(e.cfg, e.state, e.now); s.claimOver() < slowest {
			t.Errorf("over at %v, but one may work until %v", s.claimOver(), slowest)
		}
	}
	t.Run("the latest releases", func(t *testing.T) {
		e := fill()
		slowest := e.now.Add(e.cfg.Timing.ObserverWait(1000 * time.Second))
		e.run("stored foreign by=f-last")
		e.run("stream")
		s := newStep(e.cfg, e.state, e.now)
		s.foreignReleased(shownAs("f-last"), &record.Record{})
		e.state = s.State
		waits(t, e, slowest)
	})
	t.Run("the slowest may renew unseen", func(t *testing.T) {
		e := fill("times=configmap")
		slowest := e.now.Add(e.cfg.Timing.ObserverWait(2001 * time.Second))
		e.run("stored foreign by=f-last")
		e.run("stream")
		waits(t, e, slowest)
	})
	t.Run("a claim that is shown late names one that may renew unseen", func(t *testing.T) {
		e := newEnvironment(io.Discard)
		e.run("member m1")
		e.run("stored foreign by=f-0 times=configmap")
		e.run("list")
		s := newStep(e.cfg, e.state, e.now)
		s.suspect(suspect{Claim: record.Claim{Identity: "f-0", Duration: time.Second}, told: true})
		e.state = s.State
		waits(t, e, e.now.Add(e.cfg.Timing.ObserverWait(61*time.Second)))
	})
	t.Run("the latest was told of", func(t *testing.T) {
		e := fill()
		slowest := e.now.Add(e.cfg.Timing.ObserverWait(1000 * time.Second))
		s := newStep(e.cfg, e.state, e.now)
		s.suspect(suspect{Claim: record.Claim{Identity: "f-told", Duration: time.Second}, told: true})
		s.seeClaim(&record.Record{Holder: "m2", Mark: &record.Mark{Identity: "m2"}}, record.Version{UID: "u1"})
		e.state = s.State
		waits(t, e, slowest)
	})
	t.Run("one of which we know nothing was suspected later", func(t *testing.T) {
		e := newEnvironment(io.Discard)
		e.run("member m1")
		s := newStep(e.cfg, e.state, e.now)
		s.suspectUnseen(e.now)
		s.suspectUnseen(e.now.Add(-50 * time.Second))
		e.state = s.State
		waits(t, e, e.now.Add(e.cfg.Timing.ObserverWait(60*time.Second)))
	})
	t.Run("the latest has the name of the others", func(t *testing.T) {
		e := fill()
		slowest := e.now.Add(e.cfg.Timing.ObserverWait(1000 * time.Second))
		e.run("stored foreign by=f-last")
		e.run("stream")
		s := newStep(e.cfg, e.state, e.now)
		for _, name := range []string{"several", "unseen"} {
			s.suspect(suspect{Claim: record.Claim{Identity: name, Duration: time.Second}})
			s.foreignReleased(shownAs(name), &record.Record{})
		}
		e.state = s.State
		waits(t, e, slowest)
	})
}
