package election_test

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// longer makes a member's lease last for 30 s.
func longer(c *election.Config, _ *election.Spec) {
	c.Timing, _ = record.Profile(record.DefaultProfile)
	c.Timing.LeaseDuration = 30 * time.Second
}

func quick(c *election.Config, _ *election.Spec) { c.Timing, _ = record.Profile("fast") }

// TestABrokenLockOfAMemberWithALongerLease has a stranger break a lock whose holder does not see the edit
// and has a longer lease than the others. It checks that a member that joins then knows the lease from
// the holder's session alone, and waits for as long as the holder may be at work.
func TestABrokenLockOfAMemberWithALongerLease(t *testing.T) {
	for name, breaks := range map[string]func(*group){
		"deleted": func(g *group) { g.realm.Delete("a") },
		"broken": func(g *group) {
			g.realm.Edit("a", func(o *codec.Object) { delete(o.Annotations, codec.HolderAnnotation) })
		},
	} {
		for _, renewal := range []record.Renewal{record.RenewalSession, record.RenewalRecord} {
			t.Run(name+" "+string(renewal), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					g := newGroup(t, "a")
					g.renewal = func(string, string) record.Renewal { return renewal }
					g.stop = time.Second
					g.bend = longer
					m1 := g.join("m1", "stable", stable)
					after(50 * time.Second)
					hangAll(m1.store)
					breaks(g)
					g.bend = quick
					m2 := g.join("m2", "stable", stable)
					after(70 * time.Second)
					g.wantLeader("a", m2, m1, m2)
					m1.store.Heal()
					after(40 * time.Second)
					g.end(m1, m2)
				})
			})
		}
	}
}

// TestALargerDriftOfAnother checks that a member waits for others by the larger of their drifts.
func TestALargerDriftOfAnother(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.bend = func(c *election.Config, s *election.Spec) {
			quick(c, s)
			c.Timing.Drift = 0.1
		}
		m1, m3 := g.join("m1", "stable", stable), (*member)(nil)
		after(20 * time.Second)
		m3 = g.join("m3", "canary", stable)
		g.bend = quick
		m2 := g.join("m2", "stable", stable)
		after(20 * time.Second)
		g.wantLeader("a", m1, m1, m2, m3)
		hangAll(m1.store)
		last := g.realm.Read("a").Record.Renewed
		for !m2.status["a"].IsLeader() {
			after(10 * time.Millisecond)
			if time.Since(last) > time.Minute {
				t.Error("nobody leads")
				break
			}
		}
		if took := time.Since(last); took < 5500*time.Millisecond {
			t.Errorf("taken after %v, of a lease of 5s and a drift of 10 %%", took)
		}
		m1.store.Heal()
		g.end(m1, m2, m3)
	})
}

// TestMembersThatDiffer checks that a member logs a difference between members once, when it has lasted,
// and logs when it is over.
func TestMembersThatDiffer(t *testing.T) {
	plain := func(*election.Config, *election.Spec) {}
	for what, c := range map[string]struct {
		other  func(*election.Config, *election.Spec)
		differ string // empty if nothing should be logged
	}{
		"nothing":                     {plain, ""},
		"another revision":            {func(c *election.Config, _ *election.Spec) { c.Version, c.Member.Revision = "v2", "canary" }, ""},
		"leaseDuration":               {longer, "leaseDuration of the session"},
		"drift":                       {func(c *election.Config, s *election.Spec) { quickDrift(c) }, "drift"},
		"version":                     {func(c *election.Config, _ *election.Spec) { c.Version = "v2" }, "version"},
		"an unknown version":          {func(c *election.Config, _ *election.Spec) { c.Version = "" }, ""},
		"policy":                      {func(_ *election.Config, s *election.Spec) { s.Policy = priority.None{} }, "rules of an election (policy, lock, sharing, bootstrap, outage or range)"},
		"timing":                      {func(_ *election.Config, s *election.Spec) { s.Timing.MinHold = time.Hour }, "timing of an election"},
		"set":                         {nil, "set of elections"},
		"a group with the same locks": {func(c *election.Config, _ *election.Spec) { c.Group = "edge2" }, "group that holds a lock"},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				core, logs := observer.New(zapcore.InfoLevel)
				g := newGroup(t, "a", "b")
				if c.other == nil {
					g.names = g.names[:1]
					c.other = plain
				}
				g.bend = func(cfg *election.Config, s *election.Spec) {
					cfg.Version = "v1"
					c.other(cfg, s)
				}
				m2, m3 := g.join("m2", "stable", stable), g.join("m3", "stable", stable)
				after(time.Minute)
				g.names = []string{"a", "b"}
				g.bend = func(cfg *election.Config, _ *election.Spec) { cfg.Version, cfg.Log = "v1", zap.New(core) }
				m1 := g.join("m1", "stable", stable)
				after(2 * time.Minute)
				said := func(message string, level zapcore.Level) int {
					n := 0
					for _, e := range logs.FilterMessageSnippet(message).FilterLevelExact(level).All() {
						if slices.ContainsFunc(e.Context, func(f zap.Field) bool { return f.Key == "what" && f.String == c.differ }) {
							n++
						} else {
							t.Errorf("%v", e)
						}
					}
					return n
				}
				if n := said("members differ in settings", zap.WarnLevel); n != 0 {
					t.Errorf("%d warnings at once: it may be an update", n)
				}
				after(10 * time.Minute)
				told, warned := said("members differ", zap.InfoLevel), said("members differ in settings", zap.WarnLevel)
				if want := min(len(c.differ), 1); told != want || warned != want {
					t.Errorf("told %d times, warned %d times, want %d", told, warned, want)
				}
				m2.leave(t)
				m3.leave(t)
				after(time.Minute)
				if over := said("members agree again", zap.InfoLevel); over != min(len(c.differ), 1) {
					t.Errorf("%d times told that it is over", over)
				}
				g.end(m1)
			})
		})
	}
}

func quickDrift(c *election.Config) {
	c.Timing, _ = record.Profile(record.DefaultProfile)
	c.Timing.Drift = 0.02
}
