package app

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

func (p *previewed) drain(member string) func(status.Report) effect {
	return func(status.Report) effect {
		return p.steer(func(ctx context.Context, s *steerCommand) error {
			return s.drain(ctx, rollout.Drain{Member: member}, 0)
		})
	}
}

func (p *previewed) undrain(member string) func(status.Report) effect {
	return func(status.Report) effect {
		return p.steer(func(ctx context.Context, s *steerCommand) error { return s.undrain(ctx, member) })
	}
}

func (p *previewed) pause(lasts time.Duration) func(status.Report) effect {
	return func(status.Report) effect {
		stand := rollout.Standstill{At: rollout.At(time.Now())}
		if lasts > 0 {
			stand.Until = rollout.At(time.Now().Add(lasts))
		}
		return p.steer(func(ctx context.Context, s *steerCommand) error { return s.pause(ctx, "pause", stand) })
	}
}

func (p *previewed) resume(status.Report) effect {
	return p.steer(func(ctx context.Context, s *steerCommand) error { return s.resume(ctx) })
}

// ledBy are the elections that members of a host lead, apart from those in which its revision is alone.
func (p *previewed) ledBy(host string) []string {
	return names(p.report(), func(e status.Election) bool { return kindOf(e.Name) != "scoped" && record.HostOf(e.Holder) == host })
}

// TestDrains checks, for each kind of election with each policy, that a drained member hands over as the command
// announced, stays out although it starts anew and an election is pinned to it, and that elections are led when all members
// are drained.
func TestDrains(t *testing.T) {
	if underRace {
		t.Skip("make test-long runs it without the race detector; TestHandovers and TestScripts/drain run its code with it")
	}
	y := &tally{t: t}
	synctest.Test(t, func(t *testing.T) {
		p := crowded(t, 200)
		p.steered(y, "drain red-1", p.drain("red-1"))
		out := func(when, host string) {
			t.Helper()
			if led := p.ledBy(host); led != nil {
				t.Errorf("%s: the drained member %s leads %v", when, host, led)
			}
		}
		out("drained", "red-1")
		p.members[0].leave()
		p.members[0] = p.start("red-1", previewedDocument(100), "--revision", "red")
		wait(45 * time.Second)
		out("after a restart", "red-1")
		p.steered(y, "pin --member red-1", func(r status.Report) effect { return p.pin(rollout.Pin{Member: "red-1"}, names(r, nil)...) })
		out("pinned", "red-1")
		p.pin(rollout.Pin{}, names(p.report(), nil)...)
		p.pin(rollout.Pin{Member: "red-2"}, names(p.report(), nil)...)
		wait(45 * time.Second)
		p.steered(y, "drain red-2, to which all is pinned", p.drain("red-2"))
		p.pin(rollout.Pin{}, names(p.report(), nil)...)
		wait(45 * time.Second)
		p.steered(y, "drain green-1", p.drain("green-1")) // now all are
		p.members[2].leave()
		wait(45 * time.Second)
		for _, e := range p.report().Elections {
			if green := e.State == status.Led && !e.Stale; !green && !(kindOf(e.Name) == "scoped") {
				t.Errorf("all members are drained, and %s is %s", e.Name, e.State)
			}
		}
		p.members[2] = p.start("green-1", previewedDocument(200), "--revision", "green")
		wait(45 * time.Second)
		p.steered(y, "drain red-2 --undo", p.undrain("red-2"))
		out("one is not drained", "red-1")
		out("one is not drained", "green-1")
		p.steered(y, "drain red-1 --undo", p.undrain("red-1"))
		p.steered(y, "drain green-1 --undo", p.undrain("green-1"))
		p.end(p.members...)
	})
	y.close()
}

// TestHandovers checks that an election of each kind moves to the member that was named, or that is next, that nothing
// stays stored, and that it goes back only where the command said so.
func TestHandovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := crowded(t, 100)
		for _, to := range []string{"green-1", ""} {
			for _, kind := range []string{"session", "record", "configmap", "shared", "migrated", "range"} {
				name := kind + ".none"
				holder := func() string {
					r := p.report()
					e, err := electionNamed(r, name, "default")
					if err != nil {
						t.Fatal(err)
					}
					return record.HostOf(e.Holder)
				}
				before := holder()
				said := p.steer(func(ctx context.Context, s *steerCommand) error { return s.handover(ctx, name, to, time.Minute) })
				after := holder()
				if after == before && before != to || to != "" && after != to || len(said.Warnings) > 0 {
					t.Errorf("%s to %q: it went from %s to %s: %+v", name, to, before, after, said)
				}
				wait(45 * time.Second)
				if now, left := holder(), p.plan().Handovers; now != after || len(left) > 0 {
					t.Errorf("%s to %q: it went on to %s, and %v is stored", name, to, now, left)
				}
			}
		}
		said := p.steer(func(ctx context.Context, s *steerCommand) error {
			return s.handover(ctx, "session.preferred", "green-1", time.Minute)
		})
		if len(said.Notes) == 0 || !strings.Contains(said.Notes[len(said.Notes)-1], "outranks green-1") {
			t.Errorf("the default is red, and nothing says that it goes back: %+v", said)
		}
		wait(45 * time.Second)
		if slices.Contains(p.ledBy("green-1"), "session.preferred") {
			t.Error("it did not go back")
		}
		p.end(p.members...)
	})
}

// TestPausesOfElections checks that nothing moves while a group is paused, whatever its operators and sources say; that locks of
// members that leave and die are taken; and that everything moves once the pause is over, by a command or by itself.
func TestPausesOfElections(t *testing.T) {
	if underRace {
		t.Skip("make test-long runs it without the race detector; TestHandovers and TestScripts/drain run its code with it")
	}
	y := &tally{t: t}
	synctest.Test(t, func(t *testing.T) {
		p := crowded(t, 200)
		p.steered(y, "pause", p.pause(0))
		p.steered(y, "revision set green", setRevision(p, "green"))
		p.steered(y, "drain red-2", p.drain("red-2"))
		p.steered(y, "drain red-2 --undo", p.undrain("red-2"))
		p.steered(y, "pin --member red-2", func(r status.Report) effect { return p.pin(rollout.Pin{Member: "red-2"}, "session.none") })
		p.pin(rollout.Pin{}, "session.none")
		dead := p.members[0]
		dead.each(func(s *memory.Store) { s.On(memory.Put, memory.Hang()) })
		dead.leave()
		p.members = p.members[1:]
		wait(45 * time.Second)
		if led := p.ledBy("red-1"); led != nil {
			t.Errorf("red-1 is dead, and nobody took %v", led)
		}
		for _, e := range p.report().Elections {
			if e.State != status.Led || e.Stale {
				t.Errorf("after a death during the pause %s is %s", e.Name, e.State)
			}
		}
		p.steered(y, "resume", p.resume)
		p.steered(y, "pause again", p.pause(10*time.Minute))
		p.steered(y, "revision set red", setRevision(p, "red"))
		before := p.report()
		wait(12 * time.Minute)
		if after := p.report(); slices.EqualFunc(before.Elections, after.Elections, func(a, b status.Election) bool { return a.Holder == b.Holder }) {
			t.Error("nothing moved when the pause had ended by itself")
		}
		for _, e := range names(p.report(), func(e status.Election) bool { return kindOf(e.Name) == "session" && e.Revision != "red" }) {
			if e == "session.revision-location" || e == "session.preferred" {
				t.Errorf("the pause is over, and %s is not led by the default revision", e)
			}
		}
		p.end(p.members...)
	})
	y.close()
}
