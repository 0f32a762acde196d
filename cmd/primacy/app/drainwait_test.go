package app

import (
	"errors"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
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
	after.Elections[0].State, after.Elections[0].Holder = status.Foreign, "an-elector"
	if missing, err := w.unmet(after); missing != "" || err != nil {
		t.Errorf("an elector that shares the lock leads, and the wait misses %q (%v)", missing, err)
	}
	after.Elections[0].Stale = true
	if missing, err := w.unmet(after); missing != "nobody leads dns" || err != nil {
		t.Errorf("the new leader does not renew the lock, and the wait misses %q (%v)", missing, err)
	}
}

// TestDrainDoesNotOverlookOtherNamespaces checks that the wait of a drain does not end well while the member may lead elections whose
// locks are in a namespace that nobody looked into.
func TestDrainDoesNotOverlookOtherNamespaces(t *testing.T) {
	const lease = 15 * time.Second
	now := time.Now()
	plan, err := rollout.Plan{}.Drain(rollout.Drain{Member: "one", At: rollout.At(now)})
	if err != nil {
		t.Fatal(err)
	}
	session := func(host, places string) lock.Entry {
		identity := host + "_00000001"
		return lock.Entry{Name: "primacy-edge-" + host + "-0", Version: record.Version{UID: host, Revision: 1}, Record: &record.Record{
			Holder: identity, Duration: lease, Renewed: now, Group: "edge", Mark: &record.Mark{Identity: identity, Beat: 1, Duration: lease, Renewal: record.RenewalRecord},
			Member: &record.Member{Identity: identity, Revision: "a", Ready: true, Location: record.Local, Setup: record.Setup{Places: places}},
		}}
	}
	ended := session("one", "far,further")
	ended.Record.Holder, ended.Record.Mark.Identity = "", ""
	for name, c := range map[string]struct {
		sessions []lock.Entry
		looksIn  []string
		want     string
	}{
		"it has none there":    {[]lock.Entry{session("one", ""), session("two", "far")}, nil, ""},
		"its session ended":    {[]lock.Entry{ended, session("two", "far")}, nil, ""},
		"nobody looked there":  {[]lock.Entry{session("one", "far,further"), session("two", "far")}, nil, "may lead more: its elections whose locks are in namespace far, further are not seen (-f FILE, the configuration of the members, looks there)"},
		"the file names one":   {[]lock.Entry{session("one", "far,further"), session("two", "far")}, []string{"far"}, "may lead more: its elections whose locks are in namespace further are not seen (-f FILE, the configuration of the members, looks there)"},
		"the file names these": {[]lock.Entry{session("one", "far,further"), session("two", "far")}, []string{"far", "further"}, ""},
	} {
		s := status.Selection{Group: "edge"}
		for _, namespace := range c.looksIn {
			s.Expected = append(s.Expected, status.Expected{Election: namespace, Lock: "x", Namespace: namespace})
		}
		w := (&steerCommand{groupCommand: groupCommand{group: "edge"}}).emptying("one", plan, time.Minute)
		missing, err := w.unmet(status.Of(s, c.sessions, now))
		var never *exitError
		switch {
		case missing != "" || (err != nil) != (c.want != ""):
			t.Errorf("%s: the wait misses %q (%v)", name, missing, err)
		case err != nil && (err.Error() != c.want || !errors.As(err, &never) || never.status != exitNever):
			t.Errorf("%s: the wait ends with %v", name, err)
		}
	}
}
