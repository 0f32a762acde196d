package machine

import (
	"fmt"
	"slices"
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
	for _, seamless := range []bool{true, false} {
		s.Lock.seamless = seamless
		kept, want := s.Unshown(Config{}, 1).last, s.Lock.Version
		if !seamless { // versions before it are unseen
			want = s.Lock.streamed
		}
		if kept.version != want || kept.shown.Holder != "" {
			t.Errorf("seamless %v: it keeps version %v of holder %q, want %v of the answer's", seamless, kept.version, kept.shown.Holder, want)
		}
	}
}

// TestTheWaitForAMissingOwnerOutlivesAContest checks that a machine leaves the wait for whoever held a lock that has no owner now, as
// long as it lasts.
func TestTheWaitForAMissingOwnerOutlivesAContest(t *testing.T) {
	c := Config{Timing: record.Timing{LeaseDuration: 15 * time.Second}}
	s := Initial()
	s.Lock.Seen, s.Lock.Owner, s.Lock.since = true, Unowned, record.Instant(time.Hour)
	until := s.Lock.since.Add(15 * time.Second)
	if got := s.Unshown(c, until-1).electors.robbed; got != until {
		t.Errorf("the former holder may be at work until %v, want %v", time.Duration(got), time.Duration(until))
	}
	if got := s.Unshown(c, until).electors.robbed; got != 0 {
		t.Errorf("afterwards it keeps %v, want nothing", time.Duration(got))
	}
}

// TestElectorsCountThatNobodyFollowed checks that an elector which the stream shows while no machine follows the lock is a suspect
// afterwards, with the longest lease that it stated, and so is one that a claim names; that many become one; and that what was known
// before stays as it is.
func TestElectorsCountThatNobodyFollowed(t *testing.T) {
	held := func(by string, lease time.Duration) *record.Record {
		return &record.Record{Holder: by, Duration: lease, Renewed: time.Unix(1, 1)}
	}
	var before Unshown
	u := before.Shown(held("f1", time.Minute), record.Version{Revision: 5}, 1)
	u = u.Shown(held("f1", time.Second), record.Version{Revision: 6}, 2)
	claim := record.Claim{Identity: "f2", Duration: time.Minute}
	mark := &record.Mark{Identity: "m1_01234567", Beat: 1}
	claimed := &record.Record{Holder: "m1_01234567", Token: 7, Mark: mark, Claim: &claim}
	u = u.Shown(claimed, record.Version{Revision: 7}, 3)
	want := []suspect{
		{Claim: record.Claim{Identity: "f1", Duration: time.Minute}, at: 2},
		{Claim: claim, at: 3, told: true, by: 7},
	}
	if !u.shared || !slices.Equal(u.electors.suspects, want) {
		t.Errorf("shared: %v, suspects %+v, want %+v", u.shared, u.electors.suspects, want)
	}
	if before.shared || before.electors.suspects != nil {
		t.Errorf("what was known before is now %+v", before)
	}
	for n := range maxSuspects {
		u = u.Shown(held(fmt.Sprint("another", n), time.Second), record.Version{Revision: 8}, 4)
	}
	slowest := u.electors.suspects[0]
	if n := len(u.electors.suspects); n > maxSuspects || !slowest.nameless || slowest.Duration != time.Minute || slowest.told {
		t.Errorf("%d suspects, the first one %+v", n, slowest)
	}
}
