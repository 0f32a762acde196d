package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestSuspectsOutliveAReload has an elector that is cut off lose the lock to another one, which leaves a second later. The first one may
// be at work for four leases. A member that saw both claims the lock and waits, although it was reloaded in between, or came back
// as another incarnation.
func TestSuspectsOutliveAReload(t *testing.T) {
	for what, begins := range map[string]func(g *group, m1 *member){
		"with another configuration": func(g *group, m1 *member) {
			spec := election.Spec{Name: "a", Timing: record.Timing{MinHold: time.Second}, Foreign: election.Foreigners{Sharing: election.SharedWithClientGo}}
			if err := m1.manager.Apply(election.Change{Put: []election.Entry{{Spec: spec, Runner: g.judge.runner(m1.name, g.stop)}}}); err != nil {
				g.t.Fatal(err)
			}
		},
		"as another incarnation": func(g *group, _ *member) { g.realm.Delete(slot("m1")) },
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.bend = func(_ *election.Config, s *election.Spec) { s.Foreign.Sharing = election.SharedWithClientGo }
				began := time.Now()
				g.foreign("first", 1)
				m1 := g.join("m1", "stable", stable)
				after(16 * time.Second)
				g.foreign("second", 2)
				after(100 * time.Millisecond)
				begins(g, m1)
				after(900 * time.Millisecond)
				g.foreign("", 2)
				after(time.Until(began.Add(59 * time.Second)))
				if r := g.realm.Read("a").Record; r.Claim == nil {
					t.Errorf("%q may be at work, but the lock has no claim: %+v", "first", r)
				}
				after(20 * time.Second)
				if r := g.realm.Read("a").Record; r.Claim != nil || record.HostOf(r.Holder) != "m1" {
					t.Errorf("m1 does not lead: %+v", r)
				}
				g.end(m1)
			})
		})
	}
}

// foreign has an elector that is not ours hold the lock; "" releases it.
func (g *group) foreign(holder string, transitions int) {
	g.t.Helper()
	r := record.Record{Holder: holder, Duration: 15 * time.Second, Transitions: transitions, Renewed: time.Now()}
	if holder == "" {
		r.Duration = time.Second
	}
	if _, err := g.realm.Write("a", r, g.realm.Read("a").Version); err != nil {
		g.t.Fatal(err)
	}
}
