package machine

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhatOutlivesAContestIsSmall checks that what is kept of a lock that was given up leaves out the history and the store's own part.
func TestWhatOutlivesAContestIsSmall(t *testing.T) {
	s := Initial()
	s.Lock.shown = &record.Record{Holder: "m1", History: []record.Entry{{Who: "m1"}}, Rest: "the store's own"}
	kept := s.Unshown().last.shown
	if kept.Holder != "m1" || kept.History != nil || kept.Rest != nil {
		t.Errorf("it keeps %+v", kept)
	}
	if s.Lock.shown.Rest == nil {
		t.Error("it takes the record apart that the machine still reads")
	}
}
