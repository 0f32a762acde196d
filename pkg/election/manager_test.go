package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestFirstLight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		pref := record.Prefer("stable")
		m1 := g.join("m1", "stable", pref)
		m2 := g.join("m2", "canary", pref)
		after(40 * time.Second)
		t.Log(leaders(m1, m2))
		m2.prefs.values <- record.Prefer("canary")
		m1.prefs.values <- record.Prefer("canary")
		after(30 * time.Second)
		t.Log(leaders(m1, m2))
		m2.leave(t)
		after(time.Second)
		t.Log(leaders(m1, m2))
		m1.leave(t)
		t.Log(g.judge.terms(), g.judge.overlaps())
	})
}
