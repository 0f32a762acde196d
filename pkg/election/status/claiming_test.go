package status

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestClaimIsNotLed checks that a claim does not count as leadership: nobody of ours works yet.
func TestClaimIsNotLed(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := &record.Record{
		Holder: "m1_01234567", Duration: 15 * time.Second, Renewed: now, Token: 7, Group: "edge", Election: "a",
		Mark:  &record.Mark{Identity: "m1_01234567", Key: "stable", Beat: 1, Duration: 15 * time.Second},
		Claim: &record.Claim{Identity: "somebody", Duration: 15 * time.Second},
	}
	report := Of(Selection{}, []lock.Entry{{Name: "a", Record: r}}, now)
	if e := report.Elections[0]; e.State != Claiming || e.Holder != "m1_01234567" || e.Reason != "waits until somebody has stopped" {
		t.Errorf("%+v", e)
	}
	r.Claim = nil
	if e := Of(Selection{}, []lock.Entry{{Name: "a", Record: r}}, now).Elections[0]; e.State != Led {
		t.Errorf("%+v", e)
	}
}
