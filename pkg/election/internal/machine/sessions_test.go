package machine

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// beat is a beat of our session on its way through the stream that carries the records.
type beat struct {
	sent record.Instant
	// after is how many records the stream must have shown before it.
	after int
}

// TestSessionProperties is TestProperties for a member whose session renews its terms, among members with
// either setting of renewal.
func TestSessionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.cfg.Renewal = record.RenewalSession
		w.through = true
		w.cfg.Sight = rapid.SampledFrom([]Sight{WithSessions, ApartFromSessions, WithoutSessions}).Draw(t, "sight")
		t.Repeat(w.sessionActions())
		w.t = t
		w.calm()
	})
}

func (w *world) sessionActions() map[string]func(*rapid.T) {
	actions := w.actions()
	actions["beat"] = func(t *rapid.T) {
		if w.beat != nil {
			t.Skip()
		}
		w.beat = &beat{sent: w.now, after: len(w.history)}
	}
	actions["beat again"] = actions["beat"]
	actions["beat seen"] = func(t *rapid.T) {
		if w.beat == nil || w.listing || w.streamed < w.beat.after {
			t.Skip()
		}
		w.seeBeat()
	}
	actions["session"] = func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "whose")
		w.sessions = maps.Clone(w.sessions)
		if w.sessions == nil {
			w.sessions = map[string]Session{}
		}
		switch rapid.SampledFrom([]string{"live", "live", "ended", "reused", "other", "nobody", "gone"}).Draw(t, "is") {
		case "live":
			w.sessions["s-"+name] = Session{UID: "us-" + name, Holder: identity(name)}
		case "ended":
			w.sessions["s-"+name] = Session{UID: "us-" + name, Ended: true}
		case "reused":
			w.sessions["s-"+name] = Session{UID: "us-" + name, Holder: identity("p3")}
		case "other":
			w.sessions["s-"+name] = Session{UID: "another", Holder: identity(name)}
		case "nobody":
			w.sessions["s-"+name] = Session{UID: "us-" + name}
		case "gone":
			delete(w.sessions, "s-"+name)
		}
		w.step(DirectoryChanged{View: &View{Peers: w.peers, Sessions: w.sessions}})
	}
	return actions
}

// seeBeat shows our session's beat. What it leads to, where the machine needs no beats, is what time alone
// leads to.
func (w *world) seeBeat() {
	sent := w.beat.sent
	w.beat, w.beatSeen = nil, max(w.beatSeen, sent)
	needed := w.state.NeedsBeats() || w.state.GoesByBeats() || w.wake != 0 && w.now >= w.wake
	_, byTime := Step(w.cfg, w.state, w.now, BeatSeen{}) // the beat before
	b := &w.cfg.Beat
	if b.Sent == 0 || w.now >= b.Sent.Add(w.cfg.Timing.Validity()) {
		b.Since = w.now
	}
	b.Session, b.UID, b.Sent, b.Late = "s-m1", "us-m1", w.beatSeen, true
	_, byBeat := Step(w.cfg, w.state, w.now, BeatSeen{})
	w.step(BeatSeen{})
	if !needed && dump(byBeat) != dump(byTime) {
		w.t.Fatalf("a beat that was not needed led to %+v, time alone to %+v", byBeat, byTime)
	}
}
