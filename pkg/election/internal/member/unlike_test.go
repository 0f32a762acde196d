package member

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestPublishedFollowsTheElections checks that the published digests depend only on the present elections,
// not on those that were removed.
func TestPublishedFollowsTheElections(t *testing.T) {
	cfg := &Config{}
	cfg.Timing.LeaseDuration = 2 * time.Second
	var s setup
	var all []*Election
	check := func(after string) {
		t.Helper()
		var anew setup
		for _, e := range all {
			anew.add(e)
		}
		config, rest := s.published(cfg)
		if wantConfig, want := anew.published(cfg); config != wantConfig || rest != want {
			t.Errorf("%s: %s %+v, want %s %+v", after, config, rest, wantConfig, want)
		}
	}
	check("nothing")
	for n := range 4 {
		e := &Election{Name: fmt.Sprint("e", n), Lock: fmt.Sprint("l", n), Settings: &Settings{}}
		e.Timing.LeaseDuration = time.Duration(n) * time.Second
		all = append(all, e)
		s.add(e)
		check("added " + e.Name)
	}
	for len(all) > 0 {
		at := len(all) / 2
		s.remove(all[at])
		all = slices.Delete(all, at, at+1)
		check("one removed")
	}
}

// TestALeaseIsPublishedFirst checks that a member knows from what the store has shown of its own session whether others know
// the lease of an election (rule published-before-held).
func TestALeaseIsPublishedFirst(t *testing.T) {
	m := incarnation(Heritage{})
	m.now = 1
	list(m, 100)
	beat := func() session.Write {
		m.own.Publish(m.says())
		actions, _ := m.own.Step(m.now)
		return actions[len(actions)-1].(session.Write)
	}
	shows := func(w session.Write) {
		m.now = m.now.Add(3 * time.Second)
		e := lock.Entry{Name: w.Name, Record: &w.Record, Version: record.Version{UID: "own", Revision: 100 + w.Beat}}
		m.dir.Observe(m.now, e.Name, e.Record, e.Version)
		m.own.WriteDone(m.now, w.Beat, machine.Committed, e.Version)
		m.sawBeat(e)
	}
	add := func(name string, lease time.Duration) {
		m.add(&Election{ID: ID(len(m.contests.all) + 1), Name: name, Lock: name, Settings: &Settings{Timing: record.Timing{LeaseDuration: lease}}})
	}
	wants := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range m.contests.all {
			if c.config().Unpublished {
				got = append(got, c.election.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v are unpublished, want %v", when, got, want)
		}
	}
	add("first", m.cfg.Timing.LeaseDuration)
	wants("nothing was shown yet", "first")
	before := beat()
	add("longer", 40*time.Second)
	wants("nothing was shown yet", "first", "longer")
	shows(before)
	wants("our session with one of two was shown", "first", "longer")
	shows(beat())
	wants("our session with it was shown")
	add("later", m.cfg.Timing.LeaseDuration)
	wants("another one came later", "later")
	stripped := beat()
	stripped.Record.Member = nil // by a stranger
	shows(stripped)
	wants("our session was shown, and does not say it", "later")
	shows(beat())
	wants("our session with all was shown")
	add("one of many", m.cfg.Timing.LeaseDuration)
	m.now++
	next := beat()
	add("many", m.cfg.Timing.LeaseDuration)
	shows(next)
	wants("our session was shown as it was before the last one", "many")
	last := beat()
	add("more", m.cfg.Timing.LeaseDuration)
	last.Record.Member.Timings = "" // by a stranger
	shows(last)
	wants("our session was shown, and does not say all", "many", "more")
}
