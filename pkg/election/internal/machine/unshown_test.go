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

// TestAnAnswerOutlivesAContest checks that a machine leaves what an answer to a write showed and the stream has yet to show, and not
// what a read showed.
func TestAnAnswerOutlivesAContest(t *testing.T) {
	s := Initial()
	s.Lock.Seen, s.Lock.Owner = true, Free
	s.Lock.shown, s.Lock.streamed = &record.Record{Holder: "m1"}, record.Version{UID: "u", Revision: 7}
	s.Lock.Record, s.Lock.Version = &record.Record{}, record.Version{UID: "u", Revision: 8}
	for _, seamless := range []bool{true, false} {
		s.Lock.seamless = seamless
		kept, want := s.Unshown(Config{}, 1).last, s.Lock.Version
		if !seamless { // it is of a read, which may have skipped versions
			want = s.Lock.streamed
		}
		if kept.version != want || (kept.shown.Holder == "") != seamless {
			t.Errorf("seamless %v: it keeps version %v of holder %q, want %v", seamless, kept.version, kept.shown.Holder, want)
		}
	}
	s.Lock.Owner = Other // a read alone tells of that term, and no list shows that nothing came before it
	if kept := s.Unshown(Config{}, 1).last; kept.version != (record.Version{Revision: 8}) || kept.shown.Holder != "" {
		t.Errorf("of another's term that a read showed it keeps version %v of holder %q", kept.version, kept.shown.Holder)
	}
}

// TestAnEarlierTermOfOursIsWaitedOut checks that a machine that continues another one does not go on at once with a record of its own that
// cannot follow from what the other one knew: a stranger put it back over a term that nobody saw.
func TestAnEarlierTermOfOursIsWaitedOut(t *testing.T) {
	const ours, now = "m1_01234567", record.Instant(time.Hour)
	blank := &record.Record{Holder: ours}
	for what, c := range map[string]struct {
		shown *record.Record
		token record.Token
		waits bool
	}{
		"it was absent, and the token is lower than any take":            {nil, 29, true},
		"it had no mark, and the token is lower than any take":           {blank, 29, true},
		"it had no mark, and this may be the take":                       {blank, 30, false},
		"a term of ours was there, and this is a late write of the same": {&record.Record{Holder: ours, Token: 29, Mark: &record.Mark{Identity: ours, Beat: 1}}, 29, false},
	} {
		s := newStep(Config{Timing: record.Timing{LeaseDuration: 15 * time.Second}}, Initial(), now)
		s.cfg.Member.Identity, s.writes.last = ours, 9
		s.Lock.shown, s.Lock.streamed = c.shown, record.Version{UID: "u", Revision: 30}
		r := &record.Record{Holder: ours, Token: c.token, Mark: &record.Mark{Identity: ours, Beat: 2}}
		s.continues(Observed{Record: r, Version: record.Version{UID: "u", Revision: 50}, Source: List})
		if waits := s.foreign.robbedUntil() > now; waits != c.waits {
			t.Errorf("%s: waits %v, want %v", what, waits, c.waits)
		}
	}
}

// TestTheWaitForAMissingOwnerOutlivesAContest checks that a machine leaves the wait for whoever held a lock that has no owner now, as
// long as it lasts. If electors of another kind share the lock, one of them may have held it.
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
	if got := s.Unshown(c, until-1).electors.suspects; got != nil {
		t.Errorf("nobody else shares the lock, and it suspects %+v", got)
	}
	c.Foreign.Sharing = SharedWithClientGo
	if got := s.Unshown(c, until-1).electors.suspects; len(got) != 1 || got[0].at != s.Lock.since {
		t.Errorf("a shared lock may have been an elector's; it suspects %+v", got)
	}
	s.ended, s.Lock.Record, c.Bootstrap = true, nil, BootstrapImmediate
	if got := s.Unshown(c, until-1).electors.robbed; got != 0 {
		t.Errorf("after a restore, which is waited out anyway, it keeps %v", time.Duration(got))
	}
}

// TestAnElectorThatNobodyFollowedCounts checks that a lock counts as shared once the stream has shown an elector of another kind as its
// holder.
func TestAnElectorThatNobodyFollowedCounts(t *testing.T) {
	for holder, shared := range map[string]bool{"an elector": true, "m1_01234567": false, "": false} {
		if got := (Unshown{}).Shown(&record.Record{Holder: holder}, record.Version{Revision: 5}, Stream).shared; got != shared {
			t.Errorf("holder %q: shared %v, want %v", holder, got, shared)
		}
	}
}

// TestAnUnchangedBeatMayBePutBack checks that the version of a record that we know goes along with edits that the stream shows one after
// the other, and stays once anything else came between, or a list shows the edit.
func TestAnUnchangedBeatMayBePutBack(t *testing.T) {
	const ours = "m1_01234567"
	r := &record.Record{Holder: ours, Token: 5, Mark: &record.Mark{Identity: ours, Beat: 1}}
	earlier := *r
	earlier.Token = 4
	at := func(revision uint64) record.Version { return record.Version{UID: "u", Revision: revision} }
	first := Unshown{}.Shown(r, at(10), Stream)
	for what, c := range map[string]struct {
		then func(Unshown) Unshown
		goes bool
	}{
		"the stream shows edits":                     {func(u Unshown) Unshown { return u.Shown(r, at(11), Stream) }, true},
		"a list shows what the stream has shown":     {func(u Unshown) Unshown { return u.Shown(r, at(10), List) }, true},
		"a list shows an edit":                       {func(u Unshown) Unshown { return u.Shown(r, at(11), List) }, false},
		"the lock was deleted":                       {func(u Unshown) Unshown { return u.Shown(nil, at(11), Stream) }, false},
		"it is another object":                       {func(u Unshown) Unshown { return u.Shown(r, record.Version{UID: "v", Revision: 11}, Stream) }, false},
		"an elector had it":                          {func(u Unshown) Unshown { return u.Shown(&record.Record{Holder: "e"}, at(11), Stream) }, false},
		"the same beat with a lower token was there": {func(u Unshown) Unshown { return u.Shown(&earlier, at(11), Stream) }, false},
		"an earlier record was there": {func(u Unshown) Unshown {
			return u.Shown(&record.Record{Token: 4, Mark: &record.Mark{}}, at(11), Stream)
		}, false},
	} {
		if got := c.then(first).Shown(r, at(12), Stream).last; (got.version == at(12)) != c.goes || (got.version.UID == "") == c.goes {
			t.Errorf("%s: it keeps version %v", what, got.version)
		}
	}
}

// TestAReadHoldsALockBack checks that the end of our session frees no lock of which only a read tells us that it is ours, once we may have
// lost it in between.
func TestAReadHoldsALockBack(t *testing.T) {
	until := record.Instant(time.Hour)
	for what, c := range map[string]struct {
		now      record.Instant
		streamed uint64
		seamless bool
		back     bool
	}{
		"certainly ours":         {until - 1, 7, false, false},
		"read":                   {until, 7, false, true},
		"shown by the stream":    {until, 8, false, false},
		"written without a gap":  {until, 7, true, false},
		"read, and long expired": {until.Add(time.Hour), 7, false, true},
	} {
		s := Initial()
		s.validity.until = until
		s.Lock.Seen, s.Lock.Owner, s.Lock.Record = true, Mine, &record.Record{Holder: "m1"}
		s.Lock.Version, s.Lock.streamed, s.Lock.seamless = record.Version{UID: "u", Revision: 8}, record.Version{UID: "u", Revision: c.streamed}, c.seamless
		if got := s.HeldBack(Config{}, c.now); got != c.back {
			t.Errorf("%s: held back %v, want %v", what, got, c.back)
		}
	}
}
