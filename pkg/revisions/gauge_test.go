package revisions_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
)

// TestAgeOfTheLastValue checks that the age of the last value counts from when the source was last
// followed, whatever the reason, and ends when the source delivers a usable value.
func TestAgeOfTheLastValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gauge := &revisions.Gauge{}
		keeper := &revisions.Keeper{Deliver: func(election.Preference) {}, Log: zap.NewNop(), Gauge: gauge, Place: "here"}
		want := func(f revisions.Freshness) {
			t.Helper()
			if got := gauge.Freshness(); got != f {
				t.Errorf("freshness %+v, want %+v", got, f)
			}
		}
		gone := errors.New("gone")

		want(revisions.Freshness{})
		keeper.Unreadable("a", gone)
		time.Sleep(time.Second)
		want(revisions.Freshness{Kept: revisions.NotReadable, Age: time.Second})
		keeper.Readable()
		keeper.Says("1-9-0")
		time.Sleep(time.Hour)
		want(revisions.Freshness{Known: true})
		keeper.Says("no revision")
		time.Sleep(time.Second)
		want(revisions.Freshness{Known: true, Kept: revisions.ContentRefused, Age: time.Second})
		keeper.Unreadable("a", gone)
		time.Sleep(time.Second)
		keeper.Unreadable("b", gone)
		want(revisions.Freshness{Known: true, Kept: revisions.NotReadable, Age: 2 * time.Second})
		keeper.Readable()
		want(revisions.Freshness{Known: true, Kept: revisions.ContentRefused, Age: 2 * time.Second})
		keeper.Says("1-9-0")
		want(revisions.Freshness{Known: true})
	})
}

// TestFreshnessOfASwitch checks that a switch is as fresh as its present source.
func TestFreshnessOfASwitch(t *testing.T) {
	s := revisions.NewSwitch(nil)
	if got := s.Freshness(); got != (revisions.Freshness{Known: true}) {
		t.Errorf("nothing is preferred: %+v", got)
	}
	s.Use(&dated{})
	if got := s.Freshness(); got.Kept != revisions.NotReadable {
		t.Errorf("freshness %+v, want that of the source", got)
	}
}

type dated struct{ silent }

func (*dated) Freshness() revisions.Freshness {
	return revisions.Freshness{Kept: revisions.NotReadable}
}
