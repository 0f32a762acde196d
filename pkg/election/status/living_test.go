package status

import (
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
