package election

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// ranked is a user's policy that cannot be compared.
type ranked struct {
	priority.Policy
	order []string
}

// TestSettingsAreSharedByThoseThatAreAlike checks that elections with the same settings share one copy of
// them, and no others do.
func TestSettingsAreSharedByThoseThatAreAlike(t *testing.T) {
	m, err := NewManager(Config{Group: "edge", Host: "m1", Member: Member{Revision: "stable"}, Locks: memory.New(clock.Boottime()).Store()})
	if err != nil {
		t.Fatal(err)
	}
	fast, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	own := ranked{priority.None{}, []string{"a"}}
	var before *entrant
	for _, c := range []struct {
		Spec
		alike bool
	}{
		{Spec{Name: "first"}, false},
		{Spec{Name: "same", Lock: "another"}, true},
		{Spec{Name: "fast", Timing: fast}, false},
		{Spec{Name: "grace", Timing: record.Timing{LeaseDuration: fast.LeaseDuration, StopGrace: time.Second}}, false},
		{Spec{Name: "policy", Policy: priority.None{}}, false},
		{Spec{Name: "disabled", Policy: priority.None{}, Disabled: true}, true},
		{Spec{Name: "own", Policy: own}, false},
		{Spec{Name: "own-again", Policy: own}, false},
		{Spec{Name: "none", Policy: priority.None{}}, false},
	} {
		if _, err := m.Add(c.Spec, nil); err != nil {
			t.Fatal(err)
		}
		e := m.elections[c.Name]
		want := c.Spec
		if err := want.complete(&m.cfg); err != nil {
			t.Fatal(err)
		}
		if e.spec.Timing != want.Timing || e.spec.Policy.String() != want.Policy.String() {
			t.Errorf("%s has %+v", c.Name, e.spec.Settings)
		}
		if before != nil && (e.spec.Settings == before.spec.Settings) != c.alike {
			t.Errorf("%s shares its settings with %s: %v", c.Name, before.spec.Name, !c.alike)
		}
		before = e
	}
}
