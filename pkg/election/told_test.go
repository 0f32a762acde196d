package election_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// logged gives the members of a group one common log.
func logged(g *group) *observer.ObservedLogs {
	core, logs := observer.New(zapcore.InfoLevel)
	bend := g.bend
	g.bend = func(c *election.Config, s *election.Spec) {
		if bend != nil {
			bend(c, s)
		}
		c.Log = zap.New(core).With(zap.String("host", c.Host))
	}
	return logs
}

// leadings lists the terms that members logged since the last call.
func leadings(logs *observer.ObservedLogs) (all []map[string]any) {
	for _, e := range logs.TakeAll() {
		if e.Message == "leading" {
			all = append(all, e.ContextMap())
		}
	}
	return all
}

// TestTakeoverIsExplained checks that the log of a takeover names the member from which the lock was
// taken, the reason, and how long ago that member was last seen.
func TestTakeoverIsExplained(t *testing.T) {
	for name, renewal := range map[string]record.Renewal{"session": record.RenewalSession, "record": record.RenewalRecord} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.renewal = func(string, string) record.Renewal { return renewal }
				logs := logged(g)
				m1 := g.join("m1", "stable", stable)
				after(40 * time.Second)
				if first := leadings(logs); len(first) != 1 || first[0]["from"] != nil {
					t.Errorf("the first term: %v", first)
				}
				m2 := g.join("m2", "stable", stable)
				after(60 * time.Second)
				away(m1)
				logs.TakeAll()
				after(30 * time.Second)
				lease := 15 * time.Second
				switch got := leadings(logs); {
				case len(got) != 1:
					t.Errorf("after a death: %v", got)
				case !strings.HasPrefix(got[0]["from"].(string), "m1_") || got[0]["host"] != "m2":
					t.Errorf("after a death: %v", got)
				case got[0]["after"].(time.Duration) < lease || got[0]["after"].(time.Duration) > lease+5*time.Second:
					t.Errorf("a lease of %v was taken over after %v", lease, got[0]["after"])
				case !strings.Contains(got[0]["because"].(string), map[string]string{"session": "its session expired", "record": "it did not renew in time"}[name]):
					t.Errorf("because %q", got[0]["because"])
				}
				m1.store.Heal()
				after(60 * time.Second)
				logs.TakeAll()
				m2.leave(t)
				after(10 * time.Second)
				switch got := leadings(logs); {
				case len(got) != 1 || !strings.HasPrefix(got[0]["from"].(string), "m2_") || got[0]["because"] != "member is leaving":
					t.Errorf("after a release: %v", got)
				case got[0]["after"].(time.Duration) > time.Second:
					t.Errorf("a released lock was taken after %v", got[0]["after"])
				}
				g.end(m1)
			})
		})
	}
}

// TestNothingToWarnOf checks that a group that starts, changes its preference and moves logs no warning.
func TestNothingToWarnOf(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		logs := logged(g)
		m1 := g.join("m1", "stable", stable)
		after(60 * time.Second)
		m2 := g.join("m2", "canary", stable)
		after(60 * time.Second)
		for range 3 {
			for _, next := range []record.Preferred{canary, stable} {
				m2.prefs.values <- next // members never see a change at the same moment
				after(500 * time.Millisecond)
				m1.prefs.values <- next
				after(60 * time.Second)
			}
		}
		g.end(m1, m2)
		for _, e := range logs.FilterLevelExact(zapcore.WarnLevel).All() {
			t.Errorf("%s %v", e.Message, e.ContextMap())
		}
	})
}

// TestDividedForLong checks that members that never come to see the same preference do warn, once.
func TestDividedForLong(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		logs := logged(g)
		m1 := g.join("m1", "stable", stable)
		after(60 * time.Second)
		m2 := g.join("m2", "canary", stable)
		after(60 * time.Second)
		m1.prefs.values <- canary
		after(2 * time.Minute)
		if n := logs.FilterMessage("better member sees another preference").Len(); n != 1 {
			t.Errorf("it was said %d times that members see different preferences", n)
		}
		g.end(m1, m2)
	})
}

// TestFallenIsTold checks that a member whose session expired in an outage logs that it counts as fallen.
func TestFallenIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		logs := logged(g)
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "stable", stable)
		after(60 * time.Second)
		away(m1)
		after(55 * time.Second)
		m1.store.Heal()
		logs.TakeAll()
		after(60 * time.Second)
		told := logs.FilterMessageSnippet("an earlier session of this host was not ended by its own member").All()
		if len(told) != 1 || told[0].ContextMap()["host"] != "m1" {
			t.Errorf("told: %v", told)
		}
		g.end(m1, m2)
	})
}

// TestTwinsAreTold checks that a member logs that another living member has its host name, and not that one crashed. A member whose
// predecessor did crash says nothing of the kind.
func TestTwinsAreTold(t *testing.T) {
	const twin = "another living member has the same host name"
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		logs := logged(g)
		first := g.join("m1", "stable", stable)
		after(20 * time.Second)
		second := g.join("m1", "stable", stable)
		after(20 * time.Second)
		if told := logs.FilterMessageSnippet(twin).All(); len(told) != 1 || told[0].Level != zapcore.WarnLevel || told[0].ContextMap()["host"] != "m1" {
			t.Errorf("told: %v", told)
		}
		g.end(first, second)
	})
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		logs := logged(g)
		m1, m2 := g.join("m1", "stable", stable), g.join("m2", "stable", stable)
		after(60 * time.Second)
		away(m1)
		after(55 * time.Second)
		m1.store.Heal()
		after(10 * time.Minute)
		if told := logs.FilterMessageSnippet(twin).All(); len(told) != 0 {
			t.Errorf("told: %v", told)
		}
		g.end(m1, m2)
	})
}
