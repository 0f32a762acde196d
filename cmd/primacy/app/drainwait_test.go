package app

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// TestDrainWaitsForWhatWasLedBefore checks that the wait of a drain does not end while nobody leads what the host released before
// the first report of the wait.
func TestDrainWaitsForWhatWasLedBefore(t *testing.T) {
	now := time.Now()
	plan, err := rollout.Plan{}.Drain(rollout.Drain{Member: "one", At: rollout.At(now)})
	if err != nil {
		t.Fatal(err)
	}
	member := func(identity string) status.Member {
		return status.Member{Group: "edge", Identity: identity, State: status.Live, Ready: true, Preference: plan.Digest(record.Prefer(""))}
	}
	led := status.Election{Group: "edge", Name: "dns", State: status.Led, Holder: "one_00000001"}
	before := status.Report{Elections: []status.Election{led}}
	after := status.Report{
		Elections: []status.Election{{Group: "edge", Name: "dns", State: status.Released}},
		Members:   []status.Member{member("one_00000001"), member("two_00000002")},
	}
	w := (&steerCommand{groupCommand: groupCommand{group: "edge"}, report: before}).emptying("one", plan, time.Minute)
	if missing, err := w.unmet(after); missing != "nobody leads dns" || err != nil {
		t.Errorf("the wait misses %q (%v), want: nobody leads dns", missing, err)
	}
	after.Members = after.Members[:1]
	if _, err := w.unmet(after); err == nil || err.Error() != "nobody leads dns, and no other member that may lead it is ready and not drained (primacy explain dns says why)" {
		t.Errorf("nobody is left, and the wait ends with %v", err)
	}
	led.Holder = "two_00000002"
	after.Elections = []status.Election{led}
	if missing, err := w.unmet(after); missing != "" || err != nil {
		t.Errorf("another one leads, and the wait misses %q (%v)", missing, err)
	}
}
