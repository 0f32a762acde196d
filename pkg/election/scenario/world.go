package scenario

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

const (
	// writeLatency is the time from a request to its answer, and showLatency the time from a change until
	// everybody has seen it.
	writeLatency = 3 * time.Millisecond
	showLatency  = 3 * time.Millisecond
)

// world is one play. Time is virtual, in nanoseconds since the beginning.
type world struct {
	s       *Scenario
	rng     *rand.Rand
	now     int64
	queue   queue
	realm   realm
	members []*process
	// preferred is what the source of the preferred revision says.
	preferred record.Preferred
	// awaySince and awayUntil bound the present or last outage of the API.
	awaySince, awayUntil int64
	// zero is when the group settled; negative before.
	zero  int64
	judge *judge
	count Requests
	lines []Line
}

// Play plays a scenario to its end.
func Play(s Scenario) (*Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	w := &world{
		s: &s, rng: rand.New(rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15)),
		preferred: s.Preferred, zero: -1, judge: newJudge(len(s.Elections)), awayUntil: -1,
	}
	w.realm.store("")
	for _, m := range s.Members {
		p := &process{w: w, spec: m, offset: int64(time.Second) + w.rng.Int64N(int64(time.Hour))}
		w.members = append(w.members, p)
		w.after(time.Duration(w.rng.Int64N(int64(s.Timing.RenewInterval))), p.begin)
	}
	if err := w.settle(); err != nil {
		return nil, err
	}
	w.zero, w.count = w.now, Requests{}
	for _, e := range s.Events {
		w.at(w.zero+int64(e.At), func() { w.happen(e) })
	}
	w.runUntil(w.zero + int64(s.For))
	return w.result(), nil
}

// settle plays until every election is led and nobody wants to move any more.
func (w *world) settle() error {
	calm, longest := time.Duration(0), time.Duration(0)
	for _, e := range w.s.Elections {
		calm = max(calm, e.Timing.PreemptDelay+e.Timing.MinHold+w.s.Timing.RenewInterval)
		longest = max(longest, 10*max(e.Timing.LeaseDuration, e.Foreign.Wait))
	}
	for until := int64(longest + 10*calm); ; {
		at, ok := w.queue.next()
		if !ok || at > until {
			return errors.New("the elections do not settle: one keeps moving, or never gets a leader (check the timings with `primacy validate`)")
		}
		if rested := w.judge.changedAt + int64(calm); w.judge.allLed() && at > rested {
			// A random moment between two renewals, so that seeds differ.
			w.runUntil(rested + w.rng.Int64N(int64(w.s.Timing.RenewInterval)))
			return nil
		}
		w.runUntil(at)
	}
}

// runUntil plays everything that happens up to end.
func (w *world) runUntil(end int64) {
	for {
		at, ok := w.queue.next()
		if !ok || at > end {
			w.now = end
			return
		}
		w.now = at
		w.queue.pop().do()
	}
}

func (w *world) at(t int64, do func()) { w.queue.push(max(t, w.now), do) }

func (w *world) after(d time.Duration, do func()) { w.at(w.now+int64(d), do) }

// wall is what every wall clock shows.
func (w *world) wall() time.Time {
	return time.Unix(1_800_000_000, 0).UTC().Add(time.Duration(w.now).Truncate(time.Microsecond))
}

// away says whether the API cannot be reached at time t.
func (w *world) away(t int64) bool { return w.awaySince <= t && t < w.awayUntil }

// since is the time since the group settled.
func (w *world) since() Seconds { return Seconds(w.now - w.zero) }

// note adds a line to the timeline, once the group has settled.
func (w *world) note(format string, args ...any) {
	if w.zero >= 0 {
		w.lines = append(w.lines, Line{At: w.since(), What: fmt.Sprintf(format, args...)})
	}
}

// happen performs one of the scenario's events.
func (w *world) happen(e Event) {
	switch e.Kind {
	case Kill:
		p := w.victim(e.Member)
		if p == nil {
			w.note("%s is dead already", e.Member)
			return
		}
		w.note("%s is killed%s", p.spec.Name, led(w, p))
		p.kill()
	case APIAway:
		w.note("the API is away for %v", e.For)
		w.awaySince, w.awayUntil = w.now, w.now+int64(e.For)
		for _, p := range w.members {
			p.cut()
		}
		w.at(w.awayUntil, func() { w.note("the API is back") })
	case Default:
		w.note("the default revision becomes %s%s", e.Revision, w.hint(e.Revision))
		w.preferred = record.Prefer(e.Revision)
		for _, p := range w.members {
			w.after(showLatency, p.seePreference)
		}
	}
}

// hint is a remark for the timeline if no living member has the preferred revision; else empty.
func (w *world) hint(revision string) string {
	for _, p := range w.members {
		if p.spec.Revision == revision && !p.dead {
			return ""
		}
	}
	return "; no living member has this revision, so nothing moves"
}

// victim is the living member of the given name, or the one that Leader means; nil if there is none.
func (w *world) victim(name string) *process {
	var found *process
	most := -1
	for _, p := range w.members {
		switch n := len(w.judge.ledBy(p.spec.Name)); {
		case p.dead:
		case p.spec.Name == name:
			return p
		case name == Leader && n > most:
			found, most = p, n
		}
	}
	return found
}

func led(w *world, p *process) string {
	names := w.names(w.judge.ledBy(p.spec.Name))
	if names == "" {
		return "; it led nothing"
	}
	return "; it led " + names
}
