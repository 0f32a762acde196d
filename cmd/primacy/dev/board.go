package dev

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// board is what we have seen of the API so far. It belongs to one goroutine.
type board struct {
	selection status.Selection
	entries   map[status.Ref]lock.Entry
	seats     map[status.Ref]*seat // by the election's own lock
	// heard is when we last saw each member write its session, by identity.
	heard map[string]time.Time
	// died is how members died whose deaths were proved, by identity.
	died map[string]string
	// listed: we have seen a list of the kind. cut: the watch of the kind is broken.
	listed, cut map[status.Kind]bool
	// moves counts the transitions seen.
	moves int
	// present are the identities of the live members.
	present map[string]bool
	// wrong lists what should never happen, and did.
	wrong []string
}

// seat is the leadership of one election, as far as we have seen it.
type seat struct {
	election string
	record   *record.Record
	// holder is the present holder, or the last one if the lock is free.
	holder string
	// freeSince is when we saw the lock lose its holder; zero while it has a holder.
	freeSince time.Time
	// renewedAt is when we last saw the holder write.
	renewedAt time.Time
	// mourned: we have already printed that nobody leads.
	mourned bool
}

func newBoard(group string, expected []status.Expected) *board {
	b := &board{
		entries: map[status.Ref]lock.Entry{}, seats: map[status.Ref]*seat{}, heard: map[string]time.Time{}, died: map[string]string{},
		listed: map[status.Kind]bool{}, cut: map[status.Kind]bool{},
	}
	b.expect(group, expected, time.Time{})
	return b
}

// expect sets the elections that should exist from now on. It returns, in lines for people, who leads those of them that a member
// took before, since members may know the configuration first.
func (b *board) expect(group string, expected []status.Expected, now time.Time) (lines []string) {
	b.selection = status.Selection{Group: group, Expected: expected}
	seats := make(map[status.Ref]*seat, len(expected))
	for _, e := range expected {
		own := status.Ref{Kind: e.Kind, Name: e.Lock}
		s := b.seats[own]
		if s != nil {
			s.election = e.Election
		} else {
			s = &seat{election: e.Election}
			if r := b.entries[own].Record; r != nil {
				lines = append(lines, b.changed(s, r, now)...)
			}
		}
		seats[own] = s
	}
	b.seats = seats
	return lines
}

// report is who leads what now. It leaves out locks of elections that the configuration no longer has.
func (b *board) report(now time.Time) status.Report {
	var seen status.Seen
	for ref, e := range b.entries {
		if ref.Kind == status.ConfigMap {
			seen.ConfigMaps = append(seen.ConfigMaps, e)
		} else {
			seen.Leases = append(seen.Leases, e)
		}
	}
	r := seen.Report(b.selection, now)
	r.Elections = slices.DeleteFunc(r.Elections, func(e status.Election) bool {
		return !slices.ContainsFunc(b.selection.Expected, func(x status.Expected) bool { return x.Election == e.Name })
	})
	return r
}

// whole says whether we have seen a list of each kind.
func (b *board) whole() bool { return b.listed[status.Lease] && b.listed[status.ConfigMap] }

// observe records one event of the watch of a kind, and returns what happened in lines for people.
func (b *board) observe(kind status.Kind, e lock.Event, now time.Time) []string {
	switch e.Kind {
	case lock.Listed:
		// A list, the first or one after a break, replaces all that we knew of the kind. We missed
		// the changes before it, so we report none.
		maps.DeleteFunc(b.entries, func(ref status.Ref, _ lock.Entry) bool { return ref.Kind == kind })
		for _, entry := range e.List {
			b.entries[status.Ref{Kind: kind, Name: entry.Name}] = entry
			b.hear(entry, now)
		}
		for ref, s := range b.seats {
			if ref.Kind == kind {
				s.skip(b.entries[ref].Record, now)
			}
		}
		b.listed[kind] = true
	case lock.Changed:
		ref := status.Ref{Kind: kind, Name: e.Entry.Name}
		b.entries[ref] = e.Entry
		b.hear(e.Entry, now)
		if e.Entry.Absent() {
			delete(b.entries, ref)
		}
		if s := b.seats[ref]; s != nil {
			return b.changed(s, e.Entry.Record, now)
		}
	case lock.Resumed:
		b.cut[kind] = false
	case lock.Broken:
		if b.cut[kind] {
			return nil
		}
		b.cut[kind] = true
		return []string{"the API server's stream broke: " + view.Printable(fmt.Sprint(e.Err))}
	}
	return nil
}

// hear records that the owner of a session wrote it, or that somebody proved its death.
func (b *board) hear(e lock.Entry, now time.Time) {
	r := e.Record
	switch {
	case r == nil || !r.IsSession() || !r.Bound():
	case r.Holder != "":
		b.heard[r.Holder] = now
	default:
		for _, d := range r.Member.Deaths {
			if d.Identity == r.Member.Identity {
				b.died[d.Identity] = d.How
			}
		}
	}
}

// skip records the state of a lock whose earlier changes we did not see.
func (s *seat) skip(r *record.Record, now time.Time) {
	s.record, s.renewedAt, s.freeSince, s.mourned = r, now, time.Time{}, false
	if r != nil && r.Holder != "" {
		s.holder = r.Holder
	}
}

func (b *board) changed(s *seat, r *record.Record, now time.Time) []string {
	before := s.record
	s.record = r
	switch {
	case r == nil:
		s.freeSince = now
		return []string{s.election + ": the lock object was deleted"}
	case r.Holder == "":
		if before != nil && before.Holder != "" {
			s.freeSince = now
		}
		return nil
	case before != nil && before.Holder == r.Holder && before.Token == r.Token:
		s.renewedAt = now
		return nil
	}
	if before != nil && before.ThroughSession() && b.heard[before.Holder].After(s.renewedAt) {
		s.renewedAt = b.heard[before.Holder]
	}
	line := s.move(before, r, b.died[s.holder], now)
	b.moves++
	if before != nil {
		b.compare(s.election, before, r)
	}
	s.holder, s.renewedAt, s.freeSince, s.mourned = r.Holder, now, time.Time{}, false
	return []string{line}
}

// compare finds transitions that we missed, and tokens that did not rise.
func (b *board) compare(election string, before, after *record.Record) {
	if missed := after.Transitions - before.Transitions - 1; missed > 0 {
		b.wrong = append(b.wrong, fmt.Sprintf("%s: %d transitions were not seen before token %d", election, missed, after.Token))
	}
	if after.Token <= before.Token && after.Bound() {
		b.wrong = append(b.wrong, fmt.Sprintf("%s: token %d came after token %d", election, after.Token, before.Token))
	}
}

// move says who took the lock from whom, why, and how long nobody had it; died is how the former holder died, if
// somebody proved that.
func (s *seat) move(before, r *record.Record, died string, now time.Time) string {
	token := ""
	if r.Bound() {
		token = fmt.Sprintf(" token %d", r.Token)
	}
	if s.holder == "" {
		return fmt.Sprintf("%s: %s leads%s", s.election, view.NameOf(r.Holder), token)
	}
	since, why := s.renewedAt, "not renewed in time"
	if died != "" {
		why = died
	}
	if !s.freeSince.IsZero() {
		since = s.freeSince
		if why = "lock object deleted"; before != nil {
			why = lastReason(before)
		}
	}
	return fmt.Sprintf("%s: %s -> %s (%s)%s after %s", s.election, view.NameOf(s.holder), view.NameOf(r.Holder), why, token, rough(now.Sub(since)))
}

// lastReason is why the last holder released the lock, in its own words.
func lastReason(r *record.Record) string {
	if len(r.History) == 0 {
		return "released"
	}
	return view.Printable(strings.TrimPrefix(r.History[len(r.History)-1].Why, "released: "))
}

// mournAfter is how long a lock may be free before we say that nobody leads.
const mournAfter = time.Second

// mourn returns a line for each lock that has been free for mournAfter, once each.
func (b *board) mourn(now time.Time) (lines []string) {
	seats := slices.SortedFunc(maps.Values(b.seats), func(a, b *seat) int { return cmp.Compare(a.election, b.election) })
	for _, s := range seats {
		if s.freeSince.IsZero() || s.mourned || now.Sub(s.freeSince) < mournAfter {
			continue
		}
		s.mourned = true
		why := "its lock is gone"
		if s.record != nil {
			why = view.NameOf(s.holder) + " released it: " + lastReason(s.record)
		}
		lines = append(lines, fmt.Sprintf("%s: nobody leads (%s)", s.election, why))
	}
	return lines
}

// rough is a duration with few digits, for people.
func rough(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// memberNews says who joined and who left since its last call.
func (b *board) memberNews(now time.Time) (lines []string) {
	if !b.whole() {
		return nil
	}
	present := map[string]bool{}
	for _, m := range b.report(now).Members {
		if m.State != status.Live {
			continue
		}
		present[m.Identity] = true
		if !b.present[m.Identity] {
			lines = append(lines, fmt.Sprintf("member %s joined: revision %s, %s", view.NameOf(m.Identity), m.Revision, m.Location))
		}
	}
	for _, identity := range slices.Sorted(maps.Keys(b.present)) {
		if !present[identity] {
			lines = append(lines, fmt.Sprintf("member %s left", view.NameOf(identity)))
		}
	}
	b.present = present
	return lines
}
