package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestRenewalsCrossSeconds checks that each renewal's time falls into a later second than the last one's,
// however soon it follows: electors of client-go see times in whole seconds.
func TestRenewalsCrossSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(c *election.Config, s *election.Spec) {
			c.Timing, _ = record.Profile("fast")
			c.Timing.RenewInterval = 400 * time.Millisecond
			s.Renewal = record.RenewalRecord
		}
		ctx, cancel := context.WithCancel(t.Context())
		watched := make(chan error, 1)
		renewals, last := 0, time.Time{}
		go func() {
			watched <- g.realm.Store().Watch(ctx, func(e lock.Event) {
				if e.Kind != lock.Changed || e.Entry.Name != "a" || e.Entry.Record == nil || e.Entry.Record.Holder == "" {
					return
				}
				r := e.Entry.Record.Renewed.Truncate(time.Second)
				if renewals++; r.Equal(last) {
					t.Errorf("renewal %d is in second %v, as the one before", renewals, r)
				}
				last = r
			})
		}()
		m1 := g.join("m1", "stable", stable)
		after(200 * time.Second)
		if ahead := time.Until(last); renewals < 300 || ahead > time.Minute+time.Second {
			t.Errorf("%d renewals, the last one %v ahead of the clock", renewals, ahead)
		}
		m1.leave(t)
		cancel()
		if err := <-watched; err != nil {
			t.Error(err)
		}
		g.verdict(1)
	})
}

// TestWhatRenews checks that sessions renew elections by default; ranges and terms that fail open need
// renewals of their own record.
func TestWhatRenews(t *testing.T) {
	for name, tt := range map[string]struct {
		bend func(*election.Config, *election.Spec)
		want record.Renewal
	}{
		"nothing said": {func(*election.Config, *election.Spec) {}, record.RenewalSession},
		"range":        {ranged, record.RenewalRecord},
		"failopen":     {failsOpen, record.RenewalRecord},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.bend = tt.bend
				m1 := g.join("m1", "stable", stable)
				after(40 * time.Second)
				r := g.realm.Read("a").Record
				if r.Holder == "" || r.Mark.Renewal != tt.want {
					t.Errorf("held by %q, renewed by %q, want %s", r.Holder, r.Mark.Renewal, tt.want)
				}
				m1.leave(t)
			})
		})
	}
}
