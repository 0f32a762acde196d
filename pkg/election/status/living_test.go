package status

import (
	"cmp"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestLivingHolderIsNotStale checks that a lock that waits for the end of its range, and so is not
// renewed any more, is stale only if its holder's session has expired, too.
func TestLivingHolderIsNotStale(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const duration = 15 * time.Second
	of := func(renewed time.Time) *record.Record {
		return &record.Record{
			Holder: "m1_01234567", Duration: duration, Renewed: renewed, Token: 7, Group: "edge", Election: "a",
			Mark: &record.Mark{Identity: "m1_01234567", Key: "stable", Beat: 1, Duration: duration, Renewal: record.RenewalRecord},
		}
	}
	for sinceSession, stale := range map[time.Duration]bool{time.Second: false, 16 * time.Second: true} {
		session := of(now.Add(-sinceSession))
		session.Election, session.Member = "", &record.Member{Identity: "m1_01234567", Revision: "stable"}
		report := Of(Selection{}, []lock.Entry{{Name: "a", Record: of(now.Add(-17 * time.Second))}, {Name: "primacy-edge-m1-0", Record: session}}, now)
		if len(report.Elections) != 1 || len(report.Members) != 1 {
			t.Fatalf("%+v", report)
		}
		if e := report.Elections[0]; e.State != Led || e.Stale != stale || (e.Reason == "") != stale {
			t.Errorf("session of %v ago: %+v", sinceSession, e)
		}
	}
}

// TestALockThatTheDeadRenewed checks that who leads by a record that it renewed does not count as leading once its session has ended.
func TestALockThatTheDeadRenewed(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const duration, name = 15 * time.Second, "primacy-edge-m1-0"
	of := func(holder string) *record.Record {
		return &record.Record{
			Holder: holder, Duration: duration, Renewed: now, Token: 7, Group: "edge",
			Mark: &record.Mark{Identity: holder, Key: "stable", Beat: 1, Duration: duration, Renewal: record.RenewalRecord},
		}
	}
	locked := of("m1_01234567")
	locked.Election, locked.Mark.Session, locked.Mark.SessionUID = "a", name, "u1"
	for what, tt := range map[string]struct {
		holder, uid string
		stale       bool
	}{
		"it lives":                 {"m1_01234567", "u1", false},
		"its session has ended":    {"", "u1", true},
		"another uses its slot":    {"m1_89abcdef", "u1", true},
		"its session is made anew": {"", "u2", false}, // which tells nothing of it
	} {
		session := of(tt.holder)
		session.Member = &record.Member{Identity: cmp.Or(tt.holder, "m1_01234567"), Revision: "stable"}
		entries := []lock.Entry{{Name: "a", Record: locked}, {Name: name, Version: record.Version{UID: tt.uid}, Record: session}}
		if e := Of(Selection{}, entries, now).Elections[0]; e.State != Led || e.Stale != tt.stale || (e.Reason != "") != tt.stale {
			t.Errorf("%s: %+v", what, e)
		}
	}
}
