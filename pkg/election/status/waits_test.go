package status_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestFreeBy checks until when members wait, by the longest lease and the largest drift that they publish.
func TestFreeBy(t *testing.T) {
	slow := changed(session("bob", bob, "1-9-0", time.Second), func(r *record.Record) {
		m := *r.Member
		m.DriftPPM, m.LongestLease = 100000, 20
		r.Member = &m
	})
	entries := append(realm(), slow,
		lock.Entry{Name: "forever", Record: &record.Record{Holder: "somebody", Duration: 2 * time.Hour, Renewed: ago(time.Second), Group: "edge", Election: "forever"}},
		changed(held("claimed", alice, "1-9-0", 220, time.Second), func(r *record.Record) {
			r.Claim = &record.Claim{Identity: "somebody", Duration: 25 * time.Second}
			r.Acquired = ago(10 * time.Second)
		}))
	young := func(name string, age time.Duration) lock.Entry {
		return lock.Entry{Name: name, Record: &record.Record{Group: "edge", Election: name, Acquired: ago(age)}}
	}
	entries = append(entries, young("young", 3*time.Second), young("older-than-all", 24*time.Hour))
	report := status.Of(status.Selection{Group: "edge"}, entries, now)
	for _, tt := range []struct {
		election string
		waits    status.Waits
		want     time.Duration // from now
	}{
		{"led", status.Waits{}, 16500*time.Millisecond - 2*time.Second},
		{"long", status.Waits{}, 66*time.Second - 20*time.Second},
		{"foreign", status.Waits{}, 22*time.Second - time.Second},
		{"foreign", status.Waits{Timing: record.Timing{LeaseDuration: 40 * time.Second}}, 44*time.Second - time.Second},
		{"claimed", status.Waits{}, 110*time.Second - 10*time.Second},
		{"claimed", status.Waits{Foreign: machine.Foreigners{Wait: 10 * time.Second}}, 11*time.Second - 10*time.Second},
		{"waiting", status.Waits{}, 22 * time.Second},
		{"young", status.Waits{}, 22*time.Second - 3*time.Second},
		{"older-than-all", status.Waits{}, 22*time.Second - time.Hour},
		{"blanked", status.Waits{Foreign: machine.Foreigners{Sharing: machine.SharedWithClientGo}}, 88 * time.Second},
		{"corrupt", status.Waits{Foreign: machine.Foreigners{Sharing: machine.SharedWithClientGo, Wait: time.Minute}}, 66 * time.Second},
	} {
		for _, e := range report.Elections {
			if e.Name != tt.election {
				continue
			}
			if got := report.FreeBy(e, tt.waits); !got.Equal(now.Add(tt.want)) {
				t.Errorf("%s with %+v: %v from now, want %v", tt.election, tt.waits, got.Sub(now), tt.want)
			}
		}
	}
	for _, e := range report.Elections {
		if e.Name != "forever" && e.Name != "released" {
			continue
		}
		if got := report.FreeBy(e, status.Waits{}); !got.IsZero() {
			t.Errorf("%s: %v", e.Name, got)
		}
	}
}

// TestHistory checks what a report tells of a lock's last transitions, whoever wrote them.
func TestHistory(t *testing.T) {
	e := changed(held("a", alice, "1-9-0", 206, time.Second), func(r *record.Record) {
		r.History = []record.Entry{
			{When: ago(3 * time.Minute), Who: bob, Why: "took over: orphaned"},
			{When: ago(2 * time.Minute), Who: bob, Why: "released: runners failed"},
			{When: ago(time.Minute), Who: evil, Why: evil},
		}
	})
	got := status.Of(status.Selection{}, []lock.Entry{e}, now).Elections[0]
	if len(got.History) != 3 || got.History[2].Who != `evil\x1b[2J\u009b2J\u202egnp\xff\\` {
		t.Fatalf("got %+v", got.History)
	}
	for i, want := range []string{"the last holder's session had ended", "", ""} {
		if meaning := got.History[i].Meaning(); meaning != want {
			t.Errorf("%q means %q, want %q", got.History[i].Why, meaning, want)
		}
	}
	if at := got.FailedAt(bob); !at.Equal(ago(2 * time.Minute)) {
		t.Errorf("bob failed at %v", at)
	}
	if at := got.FailedAt(alice); !at.IsZero() {
		t.Errorf("alice failed at %v", at)
	}
}
