package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestATermThatIsPutBack has a stranger put a lock back as it was earlier, while a member leads that is cut off: as it was in a
// term of a member that lives, in one of a member that has left, or between two terms. Who saw the later record waits until its
// holder has certainly stopped (rules loss-is-definite, unknown-is-waited-out).
func TestATermThatIsPutBack(t *testing.T) {
	for _, which := range []string{"of a member that lives", "of a member that left", "a release"} {
		for _, renewal := range []record.Renewal{record.RenewalRecord, record.RenewalSession} {
			t.Run(which+", by "+string(renewal), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { putsBack(t, which, renewal) })
			})
		}
	}
}

func putsBack(t *testing.T, which string, renewal record.Renewal) {
	g := newGroup(t, "a")
	g.renewal = func(string, string) record.Renewal { return renewal }
	g.stop = time.Second
	copies := map[string]codec.Object{}
	m0 := g.join("m0", "stable", stable)
	after(30 * time.Second)
	g.wantLeader("a", m0, m0)
	copies["of a member that left"], _ = g.realm.Raw("a")
	m0.leave(t)
	copies["a release"], _ = g.realm.Raw("a")
	m1 := g.join("m1", "stable", stable)
	after(30 * time.Second)
	g.wantLeader("a", m1, m1)
	copies["of a member that lives"], _ = g.realm.Raw("a")
	m2 := g.join("m2", "canary", stable)
	after(30 * time.Second)
	for _, m := range []*member{m1, m2} {
		m.prefs.values <- record.Prefer("canary")
	}
	after(30 * time.Second)
	g.wantLeader("a", m2, m1, m2)
	hangAll(m2.store)
	m2.store.CutWatches()
	g.realm.Edit("a", func(o *codec.Object) { *o = copies[which] })
	after(60 * time.Second)
	g.wantLeader("a", m1, m1)
	m2.store.Heal()
	m1.leave(t)
	m2.leave(t)
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
