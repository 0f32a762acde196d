package election_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
)

// unable is a runner that says that it is not ready, but works when told to.
type unable struct{ election.Runner }

func (unable) Readiness(ctx context.Context, report func(error)) error {
	report(errors.New("the database is away"))
	<-ctx.Done()
	return nil
}

// TestMoreElectionsThanASessionCanList checks that a member whose runners are unready in more elections
// than its session has room for still has a session, small enough for its beats, and takes part.
func TestMoreElectionsThanASessionCanList(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const elections = 2200
		g := newGroup(t)
		m, err := election.NewManager(election.Config{
			Group: "edge", Host: "m1", Member: election.Member{Revision: "stable"}, Locks: g.realm.Store(),
			Preferences: newPrefs(stable), Clock: g.clock, Log: zap.NewNop(),
		})
		if err != nil {
			t.Fatal(err)
		}
		waits := election.RunnerFunc(func(ctx context.Context, _ election.Term) error { <-ctx.Done(); return nil })
		var all []*election.Status
		for i := range elections {
			name := fmt.Sprintf("%s-%05d", strings.Repeat("n", 57), i)
			s, err := m.Add(election.Spec{Name: name, Bootstrap: machine.BootstrapImmediate}, unable{waits})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		after(8 * time.Second)
		leads := 0
		for _, s := range all {
			if s.IsLeader() {
				leads++
			}
		}
		if leads != elections {
			t.Errorf("the only member leads %d of %d", leads, elections)
		}
		e := g.realm.Read(slot("m1"))
		if e.Absent() || !e.Record.Bound() || e.Record.Member.Ready || !e.Record.Member.StandsForNone() {
			t.Errorf("its session says %+v", e.Record)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
