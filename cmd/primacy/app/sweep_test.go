package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestMembersRemoveSessions checks that a member removes sessions that ended long ago if its configuration asks for that,
// and keeps those of whose members a lock of any kind tells, whatever the scope of its election.
func TestMembersRemoveSessions(t *testing.T) {
	const (
		leased   = "group: edge\nelections:\n- {name: leased, bootstrap: immediate}\n"
		mapped   = leased + "- {name: mapped, bootstrap: immediate, lock: {kind: ConfigMap}}\n"
		scoped   = leased + "- {name: mapped, bootstrap: immediate, scope: revision, lock: {kind: ConfigMap}}\n"
		disabled = "- {name: nowhere, enabled: false, bootstrap: immediate, lock: {kind: ConfigMap}}\n"
		asks     = "member: {removeSessions: true}\n"
	)
	for _, tt := range []struct {
		head, both string
		removed    bool
	}{{asks, mapped, true}, {asks, scoped, true}, {asks, mapped + disabled, true}, {"", mapped, false}} {
		both := tt.both
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t)
			stays := b.start("stays", tt.head+leased)
			wait(10 * time.Second)
			maps := b.start("maps", both)
			wait(10 * time.Second)
			comes := b.start("comes", leased)
			wait(10 * time.Second)
			comes.leave()
			if err := stays.reload(tt.head + both); err != nil {
				t.Fatal(err)
			}
			wait(10 * time.Second)
			maps.leave()
			wait(10 * time.Second)
			led := leaders(stays)
			delete(led, "nowhere") // every member works for it
			if len(led) != 2 {
				t.Fatalf("this shows nothing: the member that stays leads %v", led)
			}
			for _, s := range stays.stores { // no member has a right to a lock that none takes
				s.On(memory.Get, memory.Named("nowhere", memory.Reject(lock.ErrDenied)))
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{}, len(stays.listeners))
			for _, l := range stays.listeners {
				go func() {
					l.Run(ctx)
					done <- struct{}{}
				}()
			}
			wait(2 * time.Hour)
			there := func(host string) bool { return b.leases.Read("primacy-edge-"+host+"-0").Record != nil }
			if there("comes") == tt.removed {
				t.Errorf("%q: the session that ended long ago is there: %v", tt.head, there("comes"))
			}
			if !there("maps") {
				t.Error("the session was removed of whose member a lock of kind ConfigMap tells")
			}
			if !there("stays") {
				t.Error("the session of a living member was removed")
			}
			cancel()
			for range stays.listeners {
				<-done
			}
			b.end(stays)
		})
	}
}
