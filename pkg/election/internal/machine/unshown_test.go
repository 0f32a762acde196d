package machine

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhatOutlivesAContestIsSmall checks that what is kept of a lock that was given up leaves out the history and the store's own part.
func TestWhatOutlivesAContestIsSmall(t *testing.T) {
	s := Initial()
	s.Lock.shown = &record.Record{Holder: "m1", History: []record.Entry{{Who: "m1"}}, Rest: "the store's own"}
	kept := s.Unshown(Config{}, 1).last.shown
	if kept.Holder != "m1" || kept.History != nil || kept.Rest != nil {
		t.Errorf("it keeps %+v", kept)
	}
	if s.Lock.shown.Rest == nil {
		t.Error("it takes the record apart that the machine still reads")
	}
}

// TestAnAnswerOutlivesAContest checks that a machine leaves what an answer showed and the stream has yet to show.
func TestAnAnswerOutlivesAContest(t *testing.T) {
	s := Initial()
	s.Lock.Seen, s.Lock.Owner = true, Free
	s.Lock.shown, s.Lock.streamed = &record.Record{Holder: "m1"}, record.Version{UID: "u", Revision: 7}
	s.Lock.Record, s.Lock.Version = &record.Record{}, record.Version{UID: "u", Revision: 8}
	if kept := s.Unshown(Config{}, 1).last; kept.version != s.Lock.Version || kept.shown.Holder != "" {
		t.Errorf("it keeps version %v of holder %q, want the answer's", kept.version, kept.shown.Holder)
	}
}

// TestTheWaitForAMissingOwnerOutlivesAContest checks that a machine leaves the wait for whoever held a lock that has no owner now, as
// long as it lasts.
func TestTheWaitForAMissingOwnerOutlivesAContest(t *testing.T) {
	c := Config{Timing: record.Timing{LeaseDuration: 15 * time.Second}}
	s := Initial()
	s.Lock.Seen, s.Lock.Owner, s.Lock.since = true, Unowned, record.Instant(time.Hour)
	until := s.Lock.since.Add(15 * time.Second)
	if got := s.Unshown(c, until-1).robbed; got != until {
		t.Errorf("the former holder may be at work until %v, want %v", time.Duration(got), time.Duration(until))
	}
	if got := s.Unshown(c, until).robbed; got != 0 {
		t.Errorf("afterwards it keeps %v, want nothing", time.Duration(got))
	}
}
