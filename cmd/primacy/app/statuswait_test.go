package app

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestWaitForFreeGoesByItsOwnWatch checks that a holder whose clock is slow does not count as gone while it renews its lock, however
// expired the lock looks; and that it does once nobody has renewed the lock for as long as it lasts.
func TestWaitForFreeGoesByItsOwnWatch(t *testing.T) {
	const lasts = 15 * time.Second
	synctest.Test(t, func(t *testing.T) {
		began, renewed := time.Now(), time.Duration(0)
		report := func() status.Report {
			by := began.Add(renewed - time.Hour) // the holder's clock
			return status.Of(status.Selection{}, []lock.Entry{{Name: "one", Version: record.Version{UID: "one", Revision: 1}, Record: &record.Record{
				Holder: "old_00000001", Group: "edge", Election: "one", Duration: lasts, Token: 7, Renewed: by,
				Mark: &record.Mark{Identity: "old_00000001", Beat: 1, Duration: lasts, Renewal: record.RenewalRecord},
			}}}, time.Now())
		}
		if r := report(); len(r.Elections) != 1 || !r.Elections[0].Stale {
			t.Fatalf("the lock does not look expired: %+v", r.Elections)
		}
		free := new(statusCommand).awaiting(clocktest.Bubble{}, goalFree)
		for i := range 60 {
			if i < 20 {
				renewed = time.Since(began)
			}
			missing, err := free.missing(report())
			if silent := time.Since(began) - renewed; err != nil || (missing == "") != (silent >= lasts) {
				t.Errorf("after %v without a renewal, %q is missing (%v)", silent, missing, err)
			}
			time.Sleep(time.Second)
		}
		cut := report()
		cut.AsOf = time.Now()
		for _, r := range []status.Report{cut, report()} { // nobody knows what was renewed meanwhile
			if missing, err := free.missing(r); err != nil || missing == "" {
				t.Errorf("after a cut of the watch nothing is missing (%v)", err)
			}
		}
	})
}

// TestAReleasedElectionIsFree checks that an election whose holder's session has ended counts as free: the record still names the holder.
func TestAReleasedElectionIsFree(t *testing.T) {
	for state, free := range map[status.State]bool{status.Released: true, status.Led: false} {
		if why := goalFree.unmet(status.Election{Name: "a", Holder: "old_00000001", State: state}); (why == "") != free {
			t.Errorf("%s: %q is missing", state, why)
		}
	}
}
