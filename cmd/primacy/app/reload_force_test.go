package app

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
)

// refusing is a manager that refuses every change.
type refusing struct{ error }

func (r refusing) Apply(election.Change) error { return r.error }
func (r refusing) Settled() <-chan struct{}    { return nil }
func (r refusing) SetLag(string)               {}

// TestReloadOfWhatWasRefused checks that a refused document is not in force, and that the member takes it
// up if it is offered again when the cause is gone.
func TestReloadOfWhatWasRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		const before = "group: g\ntiming: {profile: fast}\nelections:\n- {name: a, bootstrap: immediate, runners: [{name: w, work: {as: old}}]}\n"
		after := strings.Replace(before, "as: old", "as: new", 1)
		m1 := b.start("m1", before)
		wait(20 * time.Second)
		manager, refused := m1.reloads.elections, errors.New("planted")
		m1.reloads.elections = refusing{refused}
		if err := m1.reload(after); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
		wait(20 * time.Second)
		m1.reloads.elections = manager
		if b.journal.stretches("old") != 1 || b.journal.stretches("new") != 0 {
			t.Error("it was refused, and work was exchanged")
		}
		if err := m1.reload(after); err != nil {
			t.Error(err)
		}
		wait(20 * time.Second)
		if n := b.journal.stretches("new"); n != 1 {
			t.Errorf("the new work began %d times, want 1", n)
		}
		b.end(m1)
	})
}

// TestReloadOfTheDefaultRevision checks that a new default revision takes effect at once.
func TestReloadOfTheDefaultRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		const before = "group: g\ndefaultRevision: blue\ntiming: {profile: fast}\nelections:\n- {name: a, bootstrap: immediate, runners: [{name: w, work: {}}]}\n"
		m1, m2 := b.start("m1", before, "--revision", "blue"), b.start("m2", before, "--revision", "green")
		wait(30 * time.Second)
		if led := leaders(m1, m2)["a"]; len(led) != 1 || led[0] != "m1" {
			t.Errorf("a is led by %v, want m1", led)
		}
		for _, m := range []*follower{m1, m2} {
			if err := m.reload(strings.Replace(before, "blue", "green", 1)); err != nil {
				t.Error(err)
			}
		}
		wait(30 * time.Second)
		if led := leaders(m1, m2)["a"]; len(led) != 1 || led[0] != "m2" {
			t.Errorf("a is led by %v, want m2", led)
		}
		b.end(m1, m2)
	})
}
