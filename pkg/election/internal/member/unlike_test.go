package member

import (
	"fmt"
	"slices"
	"testing"
	"time"
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
