package session

import (
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestOneEditedDurationDoesNotCount checks rule observers-clock for the three fields in which a session says
// how long it lasts. If a stranger edits one of them before anybody saw it, others still wait at least as
// long as its owner meant, and no longer than for the owner's longest lease.
func TestOneEditedDurationDoesNotCount(t *testing.T) {
	const lasts, longest = 20 * time.Second, 40 * time.Second
	for what, edit := range map[string]func(*record.Record){
		"nothing":                       func(*record.Record) {},
		"the mark, longer":              func(r *record.Record) { r.Mark.Duration = time.Hour },
		"the mark, shorter":             func(r *record.Record) { r.Mark.Duration = time.Second },
		"the field, longer":             func(r *record.Record) { r.Duration = 8760 * time.Hour },
		"the field, shorter":            func(r *record.Record) { r.Duration = time.Second },
		"what the member says, longer":  func(r *record.Record) { r.Member.LongestLease = 3600 },
		"what the member says, shorter": func(r *record.Record) { r.Member.LongestLease = 1 },
	} {
		t.Run(what, func(t *testing.T) {
			s := newSlots(t)
			r := s.by("h_1", "h_1", 7, lasts)
			r.Duration, r.Member.LongestLease = lasts, int(longest/time.Second)
			edit(r)
			s.show(1*second, r)
			if dead, _, _ := s.Expired(1*second + record.Instant(s.timing.ObserverWait(lasts)) - 1); len(dead) != 0 {
				t.Error("it is ended too early")
			}
			if dead, _, _ := s.Expired(1*second + record.Instant(s.timing.ObserverWait(longest))); len(dead) != 1 {
				t.Error("it is not ended")
			}
		})
	}
}

// TestAnEditedEndIsNotWaitedFor checks that after the end of a session, too, nobody waits for longer than the
// owner's longest lease because of an edited duration.
func TestAnEditedEndIsNotWaitedFor(t *testing.T) {
	const longest = 20 * time.Second
	s := newSlots(t)
	r := s.by("h_1", "h_1", 7, longest)
	r.Member.LongestLease = int(longest / time.Second)
	end := EndedRecord(r, "h_2", "expired")
	end.Mark.Duration = time.Hour
	s.show(1*second, &end)
	if b := s.Bounds(2*second, record.Member{Identity: "own", Config: "ours"}); b.LeaseDuration != longest {
		t.Errorf("others are waited for %v, and they meant %v", b.LeaseDuration, longest)
	}
}

// TestOthersAreWaitedForAsLongAsTheyMeant checks that nobody waits for longer because a stranger edits an
// ended session, or edits a live one without a new beat.
func TestOthersAreWaitedForAsLongAsTheyMeant(t *testing.T) {
	const lasts = 20 * time.Second
	own := record.Member{Identity: "own", Config: "ours"}
	for what, edited := range map[string]func(r *record.Record) *record.Record{
		"the duration of an end": func(r *record.Record) *record.Record {
			end := EndedRecord(r, "h_2", "expired")
			end.Mark.Duration = time.Hour
			return &end
		},
		"the longest lease": func(r *record.Record) *record.Record {
			m := *r.Member
			m.LongestLease = 3600
			e := *r
			e.Member = &m
			return &e
		},
		"the drift": func(r *record.Record) *record.Record {
			m := *r.Member
			m.DriftPPM = 400_000
			e := *r
			e.Member = &m
			return &e
		},
		"the longest lease of an end": func(r *record.Record) *record.Record {
			end := EndedRecord(r, "h_2", "expired")
			m := *r.Member
			m.LongestLease = 3600
			end.Member = &m
			return &end
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSlots(t)
			r := s.by("h_1", "h_1", 7, lasts)
			r.Duration, r.Member.LongestLease, r.Member.DriftPPM = lasts, int(lasts/time.Second), 5000
			s.show(1*second, r)
			s.show(2*second, edited(r))
			if b, meant := s.Bounds(3*second, own), (record.Bounds{LeaseDuration: lasts, Drift: 0.005}); b != meant {
				t.Errorf("we wait for others by %v, want %v", b, meant)
			}
		})
	}
}

// TestAnEditShortensNoWait checks rule observers-clock: a stranger removes something from a session, or alters it, without a
// new beat. Others still wait for as long as the member meant with its last beat.
func TestAnEditShortensNoWait(t *testing.T) {
	const longest = 60 * time.Second
	own := record.Member{Identity: "h_3", Config: "ours"}
	meant := record.Bounds{LeaseDuration: longest, Drift: 0.02}
	with := func(change func(*record.Member)) func(*record.Record) {
		return func(r *record.Record) {
			m := *r.Member
			change(&m)
			r.Member = &m
		}
	}
	for what, edit := range map[string]func(*record.Record){
		"no member":          func(r *record.Record) { r.Member = nil },
		"no mark":            func(r *record.Record) { r.Mark = nil },
		"nothing":            func(r *record.Record) { *r = record.Record{} },
		"our identity":       with(func(m *record.Member) { m.Identity = own.Identity }),
		"another one":        with(func(m *record.Member) { m.Identity, m.LongestLease, m.DriftPPM = "z_1", 0, 0 }),
		"another, longer":    with(func(m *record.Member) { m.Identity, m.LongestLease = "z_1", 3600 }),
		"our configuration":  with(func(m *record.Member) { m.Config = own.Config }),
		"another group":      func(r *record.Record) { r.Group = "other" },
		"an end by nobody":   func(r *record.Record) { r.History = append(r.History, record.Entry{Who: "h_1", Why: left}) },
		"a mark of somebody": func(r *record.Record) { r.Mark = &record.Mark{Identity: "x", Beat: 9} },
	} {
		for _, when := range []string{"live", "ended before", "ended after"} {
			t.Run(what+", "+when, func(t *testing.T) {
				s := newSlots(t)
				r := s.by("h_1", "h_1", 7, s.timing.LeaseDuration)
				r.Duration = s.timing.LeaseDuration
				r.Member.Config, r.Member.LongestLease, r.Member.DriftPPM = "theirs", int(longest/time.Second), 20_000
				s.show(1*second, r)
				if when == "ended before" {
					end := EndedRecord(r, "h_2", "expired")
					r = &end
					s.show(2*second, r)
				}
				edited := *r
				edit(&edited)
				s.show(3*second, &edited)
				if when == "ended after" {
					end := EndedRecord(&edited, "h_2", "expired")
					s.show(4*second, &end)
				}
				if b := s.Bounds(5*second, own); b != meant {
					t.Errorf("we wait for others by %v, want %v", b, meant)
				}
				if b := s.Bounds(3600*second, own); (when != "live" || what == "another group") && b != (record.Bounds{}) {
					t.Errorf("an hour later we still wait for others by %v", b)
				}
			})
		}
	}
}

// TestAnUnboundSessionTellsOfItsMember checks rules published-before-held and unknown-is-waited-out: a stranger took the mark
// away before we saw the session. Its member may be at work, so we wait for it as long as the rest of the session says.
func TestAnUnboundSessionTellsOfItsMember(t *testing.T) {
	const longest = 60 * time.Second
	s := newSlots(t)
	r := s.by("h_1", "h_1", 7, s.timing.LeaseDuration)
	r.Duration, r.Mark = s.timing.LeaseDuration, nil
	r.Member.Config, r.Member.LongestLease, r.Member.DriftPPM = "theirs", int(longest/time.Second), 20_000
	s.show(1*second, r)
	if b, meant := s.Bounds(2*second, record.Member{Identity: "own"}), (record.Bounds{LeaseDuration: longest, Drift: 0.02}); b != meant {
		t.Errorf("we wait for others by %v, want %v", b, meant)
	}
	if dead, _, _ := s.Expired(60 * second); len(dead) != 0 {
		t.Error("it is ended before the longest lease is over")
	}
	if dead, _, _ := s.Expired(63 * second); len(dead) != 1 {
		t.Error("nobody ends it")
	}
}

// TestAnEditClosesNoTerm checks rule observers-clock for the terms that may fail open: a stranger lists others without a new beat, or
// puts back what the session said before. The next beat counts.
func TestAnEditClosesNoTerm(t *testing.T) {
	for what, edited := range map[string]struct {
		beat uint64
		open []string
	}{
		"none":      {7, nil},
		"another":   {7, []string{"b"}},
		"put back":  {6, nil},
		"every one": {7, []string{record.EveryElection}},
	} {
		s := newSlots(t)
		show := func(at record.Instant, beat uint64, open ...string) {
			r := s.by("h_1", "h_1", beat, s.timing.LeaseDuration)
			r.Member.Open = open
			s.show(at, r)
		}
		wantOpen := func(at record.Instant, open ...string) {
			t.Helper()
			if view, _ := s.View(at, ""); len(view.Peers) != 1 || !slices.Equal(view.Peers[0].Open, open) {
				t.Errorf("%s: others see %+v, want the terms %v open", what, view.Peers, open)
			}
		}
		show(1*second, 7, "a")
		wantOpen(1*second, "a")
		show(2*second, edited.beat, edited.open...)
		wantOpen(2*second, "a")
		show(3*second, 8, "c")
		wantOpen(3*second, "c")
	}
}
