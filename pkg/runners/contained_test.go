package runners_test

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// containment is a runner that says whether it is contained.
type containment struct {
	election.RunnerFunc
	is bool
}

func (c containment) Contained() bool { return c.is }

// TestContained checks that an election's work is contained if all of its runners are.
func TestContained(t *testing.T) {
	is, no, silent := containment{is: true}, containment{}, election.RunnerFunc(nil)
	for name, c := range map[string]struct {
		runners []election.Runner
		want    bool
	}{
		"none":                 {nil, true},
		"one":                  {[]election.Runner{is}, true},
		"all":                  {[]election.Runner{is, is}, true},
		"one of two is not":    {[]election.Runner{is, no}, false},
		"one of two is silent": {[]election.Runner{silent, is}, false},
	} {
		var children []runners.Child
		for _, r := range c.runners {
			children = append(children, runners.Child{Name: "work", Runner: r})
		}
		made, is := runners.Supervise(children, runners.Supervision{}).(election.Contained)
		if !is || made.Contained() != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
}
