package sweep_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/sweep"
)

const lasts = 15 * time.Second

// live is the session of a member that lives, or has lapsed; ended is the same after its end.
func live(name, identity string, revision uint64) lock.Entry {
	return lock.Entry{Name: name, Version: record.Version{UID: "uid of " + name, Revision: revision}, Record: &record.Record{
		Holder: identity, Duration: lasts, Group: "edge", Mark: &record.Mark{Identity: identity, Beat: 7, Duration: lasts, Renewal: record.RenewalRecord},
		Member: &record.Member{Identity: identity, Setup: record.Setup{LongestLease: 15, DriftPPM: 5000}},
	}}
}

func ended(name, identity string, revision uint64) lock.Entry {
	e := live(name, identity, revision)
	r := session.EndedRecord(e.Record, identity, "left")
	r.History[0].When = time.Unix(1000, 0)
	e.Record = &r
	return e
}

// locked is a lock that tells of nobody, unless the test adds that.
func locked(name string, tells func(*record.Record)) lock.Entry {
	r := &record.Record{Group: "edge", Election: name, Mark: &record.Mark{Duration: lasts}}
	tells(r)
	return lock.Entry{Name: name, Version: record.Version{UID: "uid of " + name, Revision: 1}, Record: r}
}

// shown are the sessions, each with why it is kept.
func shown(all []sweep.Session) (lines []string) {
	for _, s := range all {
		lines = append(lines, strings.TrimSuffix(s.Name+": "+s.Kept, ": "))
	}
	return lines
}

// TestWhatMayGo checks which sessions have ended, and what speaks against the removal of each.
func TestWhatMayGo(t *testing.T) {
	const a, b = "primacy-edge-a-0", "primacy-edge-b-0"
	old := ended(a, "a_00000001", 10)
	edited := func(edit func(*lock.Entry)) lock.Entry {
		e := ended(a, "a_00000001", 10)
		r := *e.Record
		e.Record = &r
		edit(&e)
		return e
	}
	for _, tt := range []struct {
		what      string
		leases    []lock.Entry
		elsewhere []lock.Entry
		want      []string
	}{
		{what: "nothing speaks against it", leases: []lock.Entry{old}, want: []string{a}},
		{what: "it lives, or has lapsed without an end", leases: []lock.Entry{live(a, "a_00000001", 10)}},
		{what: "its end is a stranger's", leases: []lock.Entry{edited(func(e *lock.Entry) { e.Record.Mark = &record.Mark{Identity: "x", Duration: lasts} })}},
		{what: "it cannot be read", leases: []lock.Entry{edited(func(e *lock.Entry) { e.Record.Unreadable = "json" })}},
		{what: "of another group", leases: []lock.Entry{edited(func(e *lock.Entry) { e.Record.Group = "other" })}},
		{what: "of no group", leases: []lock.Entry{edited(func(e *lock.Entry) { e.Record.Group = "" })}},
		{what: "not a session's name", leases: []lock.Entry{edited(func(e *lock.Entry) { e.Name = "beats" })}},
		{what: "a lock on which a stranger publishes a member", leases: []lock.Entry{edited(func(e *lock.Entry) { e.Record.Election = "beats" })}},
		{what: "absent", leases: []lock.Entry{{Name: a}}},
		{what: "the latest first", leases: []lock.Entry{old, ended(b, "b_00000001", 11)}, want: []string{b, a}},
		{
			what: "a member of its host lives", leases: []lock.Entry{old, live("primacy-edge-a-1", "a_00000002", 5)},
			want: []string{a + ": session primacy-edge-a-1 of its host has not ended"},
		},
		{
			what:   "another session of its host is kept",
			leases: []lock.Entry{old, ended("primacy-edge-a-1", "a_00000002", 12), locked("l", func(r *record.Record) { r.Mark.Session = a })},
			want:   []string{"primacy-edge-a-1: lock l tells of its host", a + ": lock l tells of its host"},
		},
		{what: "another host's lives", leases: []lock.Entry{old, live(b, "b_00000002", 5)}, want: []string{a}},
		{
			what: "a lock names it", leases: []lock.Entry{old, locked("l", func(r *record.Record) { r.Mark.Session = a })},
			want: []string{a + ": lock l tells of its host"},
		},
		{
			what: "a lock is its member's", leases: []lock.Entry{old, locked("l", func(r *record.Record) { r.Holder = "a_00000001" })},
			want: []string{a + ": lock l tells of its host"},
		},
		{
			what: "a lock's mark is its member's", leases: []lock.Entry{old, locked("l", func(r *record.Record) { r.Mark.Identity = "a_00000001" })},
			want: []string{a + ": lock l tells of its host"},
		},
		{
			what: "a lock is left to its member", leases: []lock.Entry{old, locked("l", func(r *record.Record) { r.HandoverTo = "a_00000001" })},
			want: []string{a + ": lock l tells of its host"},
		},
		{
			what:   "a lock's history tells of an earlier member of its host",
			leases: []lock.Entry{old, locked("l", func(r *record.Record) { r.History = []record.Entry{{Who: "a_00000000"}} })},
			want:   []string{a + ": lock l tells of its host"},
		},
		{
			what: "a lock elsewhere tells of it", leases: []lock.Entry{old}, elsewhere: []lock.Entry{locked("m", func(r *record.Record) { r.Holder = "a_00000001" })},
			want: []string{a + ": lock m tells of its host"},
		},
		{
			what: "a lock of another group tells of it",
			leases: []lock.Entry{old, locked("l", func(r *record.Record) {
				r.Group, r.Holder = "other", "a_00000001"
			})},
			want: []string{a + ": lock l tells of its host"},
		},
		{what: "locks tell of others", leases: []lock.Entry{old, locked("l", func(r *record.Record) { r.Holder, r.Mark.Session = "b_00000001", b })}, want: []string{a}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			if got := shown(sweep.Ended("edge", tt.leases, tt.elsewhere)); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestForHowLongItIsWatched checks that a session is seen unchanged for as long as any member waits by what it says: two
// of the longest leases that it states, with the larger drift, on a clock that may be fast, beside one that may be slow.
func TestForHowLongItIsWatched(t *testing.T) {
	longer := func(d time.Duration) func(drift float64) time.Duration {
		return func(drift float64) time.Duration { return time.Duration(float64(d) * (1 + drift) * (1 + drift)) }
	}
	for _, tt := range []struct {
		what  string
		edit  func(*record.Record)
		least func(drift float64) time.Duration
		drift float64
	}{
		{"as usual", func(*record.Record) {}, longer(2 * lasts), 0.005},
		{"an election has a longer lease", func(r *record.Record) { r.Member.LongestLease = 600 }, longer(1200 * time.Second), 0.005},
		{"the session was longer", func(r *record.Record) { r.Mark.Duration = 60 * time.Second }, longer(120 * time.Second), 0.005},
		{"a larger drift", func(r *record.Record) { r.Member.DriftPPM = 100000 }, longer(2 * lasts), 0.1},
		{"its slot tells of a predecessor", func(r *record.Record) { r.Member.Predecessors = []record.Predecessor{{For: 600}} }, func(drift float64) time.Duration {
			return time.Duration(float64(600*time.Second) * (1 + drift))
		}, 0.005},
		{"of an earlier version", func(r *record.Record) { r.Member.Setup = record.Setup{} }, longer(2 * lasts), 0.005},
	} {
		t.Run(tt.what, func(t *testing.T) {
			e := ended("primacy-edge-a-0", "a_00000001", 10)
			tt.edit(e.Record)
			got, least := sweep.Ended("edge", []lock.Entry{e}, nil)[0].Quiet, tt.least(tt.drift)
			if got < least-time.Microsecond || got > least+time.Second {
				t.Errorf("it is watched for %v, want %v", got, least)
			}
		})
	}
}

// TestTheEndIsSeen checks that the members' own directory has stopped waiting by what a session says before it is removed:
// until then the removal would shorten the waits of others.
func TestTheEndIsSeen(t *testing.T) {
	for _, drift := range []float64{record.DefaultDrift, 0.2} {
		timing, err := record.Profile(record.DefaultProfile)
		if err != nil {
			t.Fatal(err)
		}
		timing.Drift = drift
		directory := session.NewDirectory("edge", timing)
		own := record.Member{Identity: "b_00000001", Config: "another", Setup: record.Setup{DriftPPM: int(drift * 1e6)}}
		e := ended("primacy-edge-a-0", "a_00000001", 10)
		e.Record.Member.LongestLease, e.Record.Member.DriftPPM = 300, int(drift*1e6)
		e.Record.History[0].Who = "b_00000001" // others count only then: its member may be at work
		const at = record.Instant(time.Hour)
		directory.Observe(at, e.Name, e.Record, e.Version)
		if directory.Bounds(at, own).LeaseDuration != 300*time.Second {
			t.Fatal("this shows nothing: nobody waits by what the session says")
		}
		quiet := sweep.Ended("edge", []lock.Entry{e}, nil)[0].Quiet
		slow := time.Duration(float64(quiet) / (1 + drift)) // their clock, while ours counts quiet
		if directory.Bounds(at.Add(slow), own).LeaseDuration != 0 {
			t.Errorf("drift %v: after %v a member with a slow clock still waits by what the session says", drift, quiet)
		}
	}
}
