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

// TestWhatOutlivesAContest checks that an answer counts that the stream has yet to show, and so does the wait for a lock without an owner.
func TestWhatOutlivesAContest(t *testing.T) {
	c := Config{Timing: record.Timing{LeaseDuration: 15 * time.Second}}
	s := Initial()
	s.Lock.Seen, s.Lock.Owner = true, Free
	s.Lock.shown, s.Lock.streamed = &record.Record{Holder: "m1"}, record.Version{UID: "u", Revision: 7}
	s.Lock.Record, s.Lock.Version = &record.Record{}, record.Version{UID: "u", Revision: 8}
	if u := s.Unshown(c, 1); u.last.version != s.Lock.Version || u.last.shown.Holder != "" || u.robbed != 0 {
		t.Errorf("of an answer it keeps %+v", u)
	}
	s.Lock.Owner, s.Lock.since = Unowned, record.Instant(time.Hour)
	if u := s.Unshown(c, s.Lock.since.Add(time.Second)); u.robbed != s.Lock.since.Add(15*time.Second) {
		t.Errorf("whoever held it before may be at work until %v", time.Duration(u.robbed))
	}
}
