package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestATermThatIsPutBack has a stranger put a lock back as it was earlier, while a member leads that is cut off: as it was in a
// term of a member that lives, in one of a member that has left, or between two terms; at once, or after something else that takes
// the leader's record away. Who saw that record waits until its holder has certainly stopped (rules loss-is-definite,
// unknown-is-waited-out).
func TestATermThatIsPutBack(t *testing.T) {
	for _, renewal := range []record.Renewal{record.RenewalRecord, record.RenewalSession} {
		for _, which := range []string{living, left, released} {
			for _, first := range []string{"", unmarked, blanked, deleted, living, left} {
				name := which
				if first != "" {
					name = first + ", then " + which
				}
				t.Run(string(renewal)+"/"+name, func(t *testing.T) {
					inBubble(t, func(t *testing.T) { putsBack(t, renewal, first, which) })
				})
			}
		}
	}
}

// What a stranger does to a lock.
const (
	living   = "a term of a member that lives"
	left     = "a term of a member that left"
	released = "a release"
	unmarked = "without its mark"
	blanked  = "without its holder"
	deleted  = "deleted"
)

func putsBack(t *testing.T, renewal record.Renewal, steps ...string) {
	g := newGroup(t, "a")
	g.renewal = func(string, string) record.Renewal { return renewal }
	g.stop = time.Second
	copies := map[string]codec.Object{}
	m0 := g.join("m0", "stable", stable)
	after(30 * time.Second)
	g.wantLeader("a", m0, m0)
	copies[left], _ = g.realm.Raw("a")
	m0.leave(t)
	copies[released], _ = g.realm.Raw("a")
	m1 := g.join("m1", "stable", stable)
	after(30 * time.Second)
	g.wantLeader("a", m1, m1)
	copies[living], _ = g.realm.Raw("a")
	m2 := g.join("m2", "canary", stable)
	m3 := g.join("m3", "older", stable)
	after(30 * time.Second)
	for _, m := range []*member{m1, m2, m3} {
		m.prefs.values <- record.Prefer("canary")
	}
	after(30 * time.Second)
	g.wantLeader("a", m2, m1, m2, m3)
	hangAll(m2.store)
	m2.store.CutWatches()
	for _, step := range steps {
		switch step {
		case "":
			continue
		case deleted:
			g.realm.Delete("a")
		default:
			g.realm.Edit("a", func(o *codec.Object) {
				switch step {
				case unmarked:
					delete(o.Annotations, codec.HolderAnnotation)
				case blanked:
					o.Fields.Holder = ""
				default:
					*o = copies[step]
				}
			})
		}
		after(100 * time.Millisecond)
	}
	after(60 * time.Second)
	if got := leaders(m1, m3)["a"]; len(got) != 1 {
		t.Errorf("it is led by %v, want one of those that see it", got)
	}
	m2.store.Heal()
	for _, m := range []*member{m1, m2, m3} {
		m.leave(t)
	}
	for _, o := range g.judge.overlapsOnly() {
		t.Error(o)
	}
}

// TestATermThatIsBoundAgain has a stranger take the mark off the lock of a member that is cut off, and put it back with a
// shorter duration. It checks rule unknown-is-waited-out: the second edit shortens no wait.
func TestATermThatIsBoundAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.stop = time.Second
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1, m2)
		hangAll(m1.store)
		m1.store.CutWatches()
		var mark string
		g.realm.Edit("a", func(o *codec.Object) {
			mark = o.Annotations[codec.HolderAnnotation]
			delete(o.Annotations, codec.HolderAnnotation)
		})
		after(100 * time.Millisecond)
		g.realm.Edit("a", func(o *codec.Object) {
			o.Annotations[codec.HolderAnnotation] = strings.Replace(mark, `"durationSeconds":15`, `"durationSeconds":5`, 1)
		})
		after(60 * time.Second)
		g.wantLeader("a", m2, m2)
		m1.store.Heal()
		g.end(m1, m2)
	})
}

// freedUnderWork has a stranger free election a under the work of m2, which does not see that. m1 has seen m2 lead. It returns the
// session that m1 had before it saw that.
func (g *group) freedUnderWork() (m1, m2 *member, session codec.Object) {
	g.t.Helper()
	g.stop = time.Second
	m1 = g.join("m1", "stable", stable)
	after(30 * time.Second)
	session, _ = g.realm.Raw(slot("m1"))
	m1.leave(g.t)
	free, _ := g.realm.Raw("a")
	m2 = g.join("m2", "stable", stable)
	after(30 * time.Second)
	m1 = g.join("m1", "stable", stable)
	after(30 * time.Second)
	g.wantLeader("a", m2, m1, m2)
	hangAll(m2.store)
	m2.store.CutWatches()
	g.realm.Edit("a", func(o *codec.Object) { *o = free })
	after(100 * time.Millisecond)
	return m1, m2, session
}

// TestATermThatIsPutBackIsRemembered has a member that waits for another one's end, since a stranger put the lock back, begin anew
// meanwhile: with another configuration of the election, or because the stranger put its session back as well. It waits on.
func TestATermThatIsPutBackIsRemembered(t *testing.T) {
	for what, begins := range map[string]func(g *group, m1 *member, session codec.Object){
		"with another configuration": func(g *group, m1 *member, _ codec.Object) {
			spec := election.Spec{Name: "a", Timing: record.Timing{MinHold: time.Second}}
			if err := m1.manager.Apply(election.Change{Put: []election.Entry{{Spec: spec, Runner: g.judge.runner(m1.name, g.stop)}}}); err != nil {
				g.t.Fatal(err)
			}
		},
		"as another incarnation": func(g *group, _ *member, session codec.Object) {
			g.realm.Edit(slot("m1"), func(o *codec.Object) { *o = session })
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				m1, m2, session := g.freedUnderWork()
				begins(g, m1, session)
				after(60 * time.Second)
				if r := g.realm.Read("a").Record; record.HostOf(r.Holder) != "m1" {
					t.Errorf("it is held by %q, want m1", r.Holder)
				}
				m2.store.Heal()
				m1.leave(t)
				m2.leave(t)
				for _, o := range g.judge.overlapsOnly() {
					t.Error(o)
				}
			})
		})
	}
}

// TestALatecomerTakesWhatIsHandedToIt has the preferred member come while another one waits a new lock out. That one takes the lock and
// hands it over before the newcomer has waited for as long itself: nobody can have put that take back.
func TestALatecomerTakesWhatIsHandedToIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.stop = time.Second
		relaxed, err := record.Profile("relaxed") // a lease of 137 s, of which a term need last 60 s only
		if err != nil {
			t.Fatal(err)
		}
		g.bend = func(c *election.Config, s *election.Spec) { c.Timing, s.Timing = relaxed, relaxed }
		m1 := g.join("m1", "stable", record.Prefer("canary"))
		after(130 * time.Second)
		m2 := g.join("m2", "canary", record.Prefer("canary"))
		after(90 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		g.end(m1, m2)
	})
}
