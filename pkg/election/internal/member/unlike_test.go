package member

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
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

// TestALongerLeaseIsPublishedFirst checks that a member knows from what the store has shown of its own session whether
// others know the lease of an election (rule published-before-held).
func TestALongerLeaseIsPublishedFirst(t *testing.T) {
	const me, other = "m1_01234567", "m2_01234567"
	m := New(Config{Group: "edge", Identity: me, Host: "m1", WritesPerSecond: 1, Timing: record.Timing{LeaseDuration: 15 * time.Second}})
	m.own.Step(0) // it chooses its slot
	contestOf := func(lease time.Duration) *contest {
		e := &Election{ID: 1, Name: "a", Lock: "a", Settings: &Settings{Timing: record.Timing{LeaseDuration: lease}}}
		return newContest(m, e, e.lockName())
	}
	shows := func(name, holder string, beat uint64, seconds int) {
		m.dir.Observe(0, name, &record.Record{
			Holder: holder, Group: "edge", Duration: 15 * time.Second, Transitions: 1,
			Mark:   &record.Mark{Identity: holder, Transitions: 1, Beat: beat, Duration: 15 * time.Second},
			Member: &record.Member{Identity: holder, Setup: record.Setup{LongestLease: seconds}},
		}, record.Version{UID: "u-" + name, Revision: 100 + beat})
	}
	for _, c := range []struct {
		what  string
		then  func()
		lease time.Duration
		want  bool
	}{
		{what: "the lease of the sessions", lease: 15 * time.Second},
		{what: "nothing was shown yet", lease: 40 * time.Second, want: true},
		{what: "another member has it", then: func() { shows(session.SlotName("edge", "m2", 0), other, 1, 40) }, lease: 40 * time.Second, want: true},
		{what: "our session without it", then: func() { shows(m.own.Name(), me, 1, 15) }, lease: 40 * time.Second, want: true},
		{what: "our session with it", then: func() { shows(m.own.Name(), me, 2, 40) }, lease: 40 * time.Second},
		{what: "a longer one", lease: 41 * time.Second, want: true},
	} {
		if c.then != nil {
			c.then()
		}
		if got := contestOf(c.lease).config().Unpublished; got != c.want {
			t.Errorf("%s: unpublished is %v", c.what, got)
		}
	}
}
