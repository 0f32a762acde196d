package machine

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestProperties checks what must be true of every step in every schedule that a driver may produce (see
// world). In the end it lets calm return: then the machine leads, or has left.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(w.actions())
		w.t = t
		w.calm()
	})
}

// actions are what may happen, in any order.
func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": func(t *rapid.T) { w.t = t },
		"pass": func(t *rapid.T) {
			w.pass(rapid.SampledFrom([]time.Duration{
				time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 16 * time.Second,
			}).Draw(t, "for"))
		},
		"tick": func(t *rapid.T) {
			if w.wake == 0 {
				t.Skip()
			}
			w.now, w.wake = max(w.now, w.wake), 0
			w.step(Tick{})
		},
		"commit": func(t *rapid.T) {
			if w.flight == nil || !w.commit(w.flight) {
				t.Skip()
			}
		},
		"send late": func(t *rapid.T) {
			if w.flight == nil || w.flight.committed != nil {
				t.Skip()
			}
			w.flight.sent = w.now
		},
		"commit late": func(t *rapid.T) {
			if len(w.limbo) == 0 {
				t.Skip()
			}
			w.commit(w.limbo[rapid.IntRange(0, len(w.limbo)-1).Draw(t, "which")])
		},
		"answer": func(t *rapid.T) {
			if w.flight == nil {
				t.Skip()
			}
			if w.commit(w.flight) || w.flight.committed != nil {
				w.answer(Committed)
				return
			}
			w.answer(Conflicted)
		},
		"conflict with oneself": func(t *rapid.T) {
			if w.flight == nil || w.flight.committed == nil {
				t.Skip()
			}
			w.answer(Conflicted)
		},
		"refuse": func(t *rapid.T) {
			if w.flight == nil || w.flight.committed != nil {
				t.Skip()
			}
			w.answer(Refused)
		},
		"give up": func(t *rapid.T) {
			if w.flight == nil {
				t.Skip()
			}
			w.answer(Unknown)
		},
		"stream": func(t *rapid.T) {
			if w.listing || w.streamed >= len(w.history) {
				t.Skip()
			}
			w.showNext()
		},
		"break": func(t *rapid.T) {
			if w.listing {
				t.Skip()
			}
			w.listing, w.listSent = true, w.now
		},
		"list": func(t *rapid.T) {
			if !w.listing {
				t.Skip()
			}
			w.answerList()
		},
		"take the read": func(t *rapid.T) {
			if w.reading == nil {
				t.Skip()
			}
			shot := *w.latest()
			w.reading.shot = &shot
		},
		"read": func(t *rapid.T) {
			if w.reading == nil {
				t.Skip()
			}
			w.answerRead()
		},
		"read failed": func(t *rapid.T) {
			if w.reading == nil {
				t.Skip()
			}
			w.reading = nil
			w.step(ReadFailed{})
		},
		"stranger": func(t *rapid.T) { w.stranger() },
		"restore": func(t *rapid.T) {
			if len(w.history) < 3 || rapid.IntRange(0, 9).Draw(t, "seldom") != 0 {
				t.Skip()
			}
			w.history = w.history[:rapid.IntRange(1, len(w.history)-1).Draw(t, "to")]
			w.listing, w.listSent = true, w.now
		},
		"peer": func(t *rapid.T) {
			w.setPeer(Peer{Member: member(
				rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "name"),
				arguments{
					"location":   rapid.SampledFrom([]string{"local", "remote"}).Draw(t, "location"),
					"ready":      rapid.SampledFrom([]string{"true", "false"}).Draw(t, "ready"),
					"preference": rapid.SampledFrom([]string{"d", "e"}).Draw(t, "preference"),
					"config":     rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "config"),
				}), Trust: Proven})
		},
		"gone": func(t *rapid.T) {
			w.peers = nil
			w.step(DirectoryChanged{View: &View{Sessions: w.sessions}})
		},
		"prefer": func(t *rapid.T) {
			w.cfg.Preferred = rapid.SampledFrom([]record.Preferred{
				record.Prefer(""), record.Prefer("stable"), record.Prefer("canary"), {State: record.PreferredNotSynced},
				{State: record.PreferredSet, Revision: "stable", Paused: true, NoTakeover: true},
			}).Draw(t, "preferred")
			w.step(PreferenceChanged{})
		},
		"stopped": func(t *rapid.T) {
			if !w.stopping {
				t.Skip()
			}
			w.stopping = false
			w.step(RunnersStopped{})
		},
		"failed": func(t *rapid.T) { w.step(RunnersFailed{}) },
		"resign": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "seldom") != 0 {
				t.Skip()
			}
			w.resigned = true
			w.step(Resign{Reason: ReasonShutdown})
		},
		"pause": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "seldom") != 0 {
				t.Skip()
			}
			w.step(Paused{})
		},
		"resume": func(t *rapid.T) { w.step(Resumed{}) },
	}
}

// stranger is anything that others do to the lock, allowed or not.
func (w *world) stranger() {
	e := &environment{object: w.latest().record, version: w.latest().version}
	kind := rapid.SampledFrom([]string{"held", "held", "free", "free", "foreign", "released", "claimed", "blank", "empty", "delete", "label", "duration", "token", "unreadable", "mine"}).Draw(w.t, "kind")
	a := arguments{
		"by": rapid.SampledFrom([]string{"p1", "p2"}).Draw(w.t, "by"), // nobody forges our name
		"to": rapid.SampledFrom([]string{"p1", "m1", ""}).Draw(w.t, "to"),
	}
	if kind == "held" && w.through && rapid.Bool().Draw(w.t, "through its session") {
		a["renewal"] = "session"
	}
	if e.object == nil && kind != "held" && kind != "foreign" {
		kind = "empty"
	}
	switch kind {
	case "delete":
		w.store(nil)
		return
	case "mine": // an older record comes back
		for i := len(w.history) - 1; i >= 0; i-- {
			if r := w.history[i].record; r != nil && r.Holder == identity("m1") {
				w.store(r)
				return
			}
		}
		return
	case "foreign":
		a["by"] = "client-go"
	case "claimed":
		kind, a["claim"] = "held", "client-go/4/15s"
	case "label", "duration", "token", "unreadable":
		r := *e.object
		switch kind {
		case "duration":
			r.Duration = time.Second
			if r.Mark != nil {
				m := *r.Mark
				m.Duration = 2 * time.Second
				r.Mark = &m
			}
		case "token":
			r.Token += 3
		case "unreadable":
			r.Unreadable = "json"
		}
		w.store(&r)
		return
	}
	w.store(e.made(kind, a))
}

// calm: from now on everybody else is gone, the store answers at once and the work goes well. In the end
// the member must lead, without a storm of writes, or have left.
func (w *world) calm() {
	w.limbo = nil
	w.step(Resumed{})
	if w.cfg.Preferred.NoTakeover {
		w.cfg.Preferred.NoTakeover = false
		w.step(PreferenceChanged{})
	}
	w.step(DirectoryChanged{View: &View{}})
	end := w.now.Add(time.Hour)
	for start := w.events; w.state.Role != Leading; {
		if w.events-start > 1000 {
			w.t.Fatalf("a storm, or a livelock: %v", w.state)
		}
		switch {
		case w.state.withdrawal.leaving != "" && w.state.Settled(w.cfg, w.now):
			return
		case w.through && w.beat == nil && w.beatSeen < w.now:
			w.beat = &beat{sent: w.now, after: len(w.history)}
		case w.flight != nil:
			if w.commit(w.flight) || w.flight.committed != nil {
				w.answer(Committed)
			} else {
				w.answer(Conflicted)
			}
		case w.reading != nil:
			w.answerRead()
		case w.listing:
			w.answerList()
		case w.streamed < len(w.history):
			w.showNext()
		case w.beat != nil:
			w.seeBeat()
		case w.stopping:
			w.stopping = false
			w.step(RunnersStopped{})
		case w.heldUnseen():
			e := &environment{object: w.latest().record, version: w.latest().version}
			w.store(e.made("free", arguments{"by": "p1"})) // by its holder, or by an operator
		case w.wake != 0 && w.wake < end:
			w.now, w.wake = max(w.now, w.wake), 0
			w.step(Tick{})
		default:
			w.t.Fatalf("a wedge: nothing happens any more, %v, lock %v, leaving %q", w.state.Role, w.state.Lock.Owner, w.state.withdrawal.leaving)
		}
	}
}

// heldUnseen says whether a session renews the lock that the member would not see.
func (w *world) heldUnseen() bool {
	r := w.latest().record
	return newStep(w.cfg, w.state, w.now).renewedUnseen() && r != nil && r.Holder != ""
}
