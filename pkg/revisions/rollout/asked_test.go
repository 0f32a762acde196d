package rollout

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

func drained(t *testing.T, p Plan, member string) Plan {
	t.Helper()
	p, err := p.Drain(Drain{Member: member, By: "eve", At: At(start)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDrained checks that a drain counts for each election, beside a pin and a rollout, and that its digest differs.
func TestDrained(t *testing.T) {
	p := drained(t, drained(t, full(), "edge-2"), "edge-2").At(start.Add(2 * time.Hour))
	want := record.HostsOf("1e3", "edge-2", "web-0")
	for _, election := range []string{"web", "db", "never-heard-of"} {
		if got := p.Preferred(election, blue); got.Drained != want || got.Paused {
			t.Errorf("%s prefers %v", election, got)
		}
	}
	if got := p.Preferred("web", record.Preferred{State: record.PreferredNotSynced}); got.State != record.PreferredNotSynced || got.Drained != want {
		t.Errorf("before the default is known: %v", got)
	}
	before := Plan{}.Digest(blue)
	one := drained(t, Plan{}, "edge-1")
	two := drained(t, one, "edge-2")
	if before != blue.String() || one.Digest(blue) == before || two.Digest(blue) == one.Digest(blue) {
		t.Errorf("digests %s, %s, %s", before, one.Digest(blue), two.Digest(blue))
	}
	back, err := two.Undrain("edge-2")
	if err != nil || back.Digest(blue) != one.Digest(blue) {
		t.Errorf("%v: %s after the drain was undone, want %s", err, back.Digest(blue), one.Digest(blue))
	}
	var refused *Refused
	if _, err := back.Undrain("edge-2"); !errors.As(err, &refused) {
		t.Errorf("undoing it twice: %v", err)
	}
	if _, err := back.Drain(Drain{Member: "edge_1"}); err == nil || !strings.Contains(err.Error(), "no host name of a member") {
		t.Errorf("no host name: %v", err)
	}
}

// TestEnds checks that a pause and a handover count until they end, and that the plan says when that is.
func TestEnds(t *testing.T) {
	p, err := Plan{}.Stand(Standstill{At: At(start), Until: At(start.Add(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.HandOver(Handover{Election: "web", To: "edge-1", Until: At(start.Add(time.Minute))}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after  time.Duration
		member string
		paused bool
		ends   time.Duration
	}{
		{0, "edge-1", true, time.Minute},
		{time.Minute - time.Millisecond, "edge-1", true, time.Minute},
		{time.Minute, "", true, time.Hour},
		{time.Hour - time.Millisecond, "", true, time.Hour},
		{time.Hour, "", false, 0},
	} {
		now := p.At(start.Add(tt.after))
		got, ends := now.Preferred("web", blue), time.Time{}
		if tt.ends > 0 {
			ends = start.Add(tt.ends)
		}
		if got.Member != tt.member || got.Paused != tt.paused || !now.Ends().Equal(ends) {
			t.Errorf("after %v web prefers %v, and something ends at %v", tt.after, got, now.Ends())
		}
	}
	if len(p.Handovers) != 1 || p.Standstill == nil {
		t.Errorf("At changed its plan: %+v", p)
	}
	if _, err := p.Stand(Standstill{At: At(start), Until: At(start)}); err == nil {
		t.Error("a pause that ends when it begins was accepted")
	}
	if _, err := p.Stand(Standstill{At: At(start), NoTakeover: true}); err == nil {
		t.Error("a pause without takeovers and without an end was accepted")
	}
	without, err := p.Stand(Standstill{At: At(start), Until: At(start.Add(time.Hour)), NoTakeover: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := without.Preferred("web", blue); !got.Paused || !got.NoTakeover || without.Digest(blue) == p.Digest(blue) {
		t.Errorf("without takeovers web prefers %v, digest %q, with them %q", got, without.Digest(blue), p.Digest(blue))
	}
	if _, err := (Plan{}).GoOn(); err == nil {
		t.Error("a group that is not paused was resumed")
	}
	if p, err = p.GoOn(); err != nil || p.Standstill != nil {
		t.Errorf("%v: %+v after resume", err, p.Standstill)
	}
}

// TestWhatEndedIsKeptForADay checks that Kept keeps what has ended for a day, and no longer, and that Passing returns the plans that
// members may go by meanwhile.
func TestWhatEndedIsKeptForADay(t *testing.T) {
	p, err := Plan{}.Stand(Standstill{At: At(start), Until: At(start.Add(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.HandOver(Handover{Election: "web", To: "edge-1", Until: At(start.Add(time.Minute))}); err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	for _, tt := range []struct {
		after            time.Duration
		handover, paused bool
		passing          int
	}{
		{0, true, true, 1},
		{time.Minute, true, true, 2},
		{time.Hour, true, true, 3},
		{day + time.Minute - time.Millisecond, true, true, 3},
		{day + time.Minute, false, true, 2},
		{day + time.Hour, false, false, 1},
	} {
		now := start.Add(tt.after)
		kept := p.Kept(now)
		if len(kept.Handovers) == 1 != tt.handover || (kept.Standstill != nil) != tt.paused {
			t.Errorf("after %v there is %+v", tt.after, kept)
		}
		passing := kept.Passing(now)
		if first, last := passing[0], passing[len(passing)-1]; len(passing) != tt.passing || first.Digest(blue) != kept.Digest(blue) || last.Digest(blue) != p.At(now).Digest(blue) {
			t.Errorf("after %v members may count %+v", tt.after, passing)
		}
	}
}

// TestHandedOver checks that the end of one handover does not remove a newer one of the same election.
func TestHandedOver(t *testing.T) {
	first := Handover{Election: "web", To: "edge-1", Until: At(start.Add(time.Minute))}
	second := Handover{Election: "web", To: "edge-2", Until: At(start.Add(time.Hour))}
	p, err := Plan{}.HandOver(first)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.HandOver(second); err != nil || len(p.Handovers) != 1 {
		t.Fatalf("%v: %+v", err, p.Handovers)
	}
	if p, err = p.HandedOver(first); err != nil || len(p.Handovers) != 1 {
		t.Errorf("%v: %+v is left, want the second", err, p.Handovers)
	}
	if p, err = p.HandedOver(second); err != nil || len(p.Handovers) != 0 {
		t.Errorf("%v: %+v is left, want none", err, p.Handovers)
	}
}

// TestHandedOverAsStored checks that a handover is found again by who asked for it, although a name is stored on one line.
func TestHandedOverAsStored(t *testing.T) {
	h := Handover{Election: "web", To: "web-1", By: "DOMAIN\teve ", At: At(start), Until: At(start.Add(time.Minute))}
	p, err := Plan{}.HandOver(h)
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = Read(data, Plan{}); err != nil {
		t.Fatal(err)
	}
	if p, err = p.HandedOver(h); err != nil || len(p.Handovers) != 0 {
		t.Errorf("%v: %+v is left", err, p.Handovers)
	}
}

// TestUnreadableWords checks that a broken key keeps its last good document, and that nothing moves where there is none.
func TestUnreadableWords(t *testing.T) {
	good := full()
	data, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	known, err := Read(data, Plan{})
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range map[string]string{
		KeyDrained:   "- membre: web-0",
		KeyPaused:    "until: soon",
		KeyHandovers: "- {election: web, to: web-1}", // without an end
	} {
		broken := map[string]string{KeyDrained: data[KeyDrained], KeyPaused: data[KeyPaused], KeyHandovers: data[KeyHandovers]}
		broken[key] = text
		kept, err := Read(broken, known)
		if err == nil || len(kept.Unreadable) > 0 || kept.Preferred("web", blue).Drained != known.Preferred("web", blue).Drained ||
			kept.Standstill == nil || len(kept.Handovers) != 1 {
			t.Errorf("%s: %v: %+v", key, err, kept)
		}
		blind, err := Read(broken, Plan{})
		if err == nil || blind.Preferred("web", blue).State != record.PreferredNotSynced || !strings.Contains(blind.Digest(blue), "unreadable "+key) {
			t.Errorf("%s, never read: %v: %v, %s", key, err, blind.Preferred("web", blue), blind.Digest(blue))
		}
		delete(broken, key)
		if none, err := Read(broken, known); err != nil || len(none.Drained) > 0 && none.Standstill != nil && len(none.Handovers) > 0 {
			t.Errorf("%s, absent: %v: %+v", key, err, none)
		}
	}
}

// TestPausedGroup checks that a rollout stands still while its group is paused, fails nothing, and goes on afterwards
// with the waits for its moves begun anew; and that an abort counts in any case.
func TestPausedGroup(t *testing.T) {
	spec := Spec{UID: uid, Generation: 1, Stable: "blue", Canary: "green", AcquireTimeout: time.Minute, Steps: []Step{{SetWeight: 100}}}.WithDefaults()
	seen := Seen{Own: own, Default: blue, Elections: []Election{
		{Name: own, Holder: "g", Revision: "green", Canary: "g"}, {Name: "web", Holder: "b", Revision: "blue", Canary: "g"},
	}}
	moving := Advance(spec, nil, seen, start).Status
	if len(moving.Moving) != 1 {
		t.Fatalf("%+v", moving)
	}
	seen.Paused, seen.Failures = true, []Failure{{Check: "acquired", Election: "web", What: "late"}}
	held := Advance(spec, &moving, seen, start.Add(time.Hour)).Status
	if held.Phase != Paused || len(held.Moving) > 0 || len(held.Failures) > 0 || !strings.Contains(held.Message, "the group is paused") {
		t.Errorf("paused: %+v", held)
	}
	seen.Paused, seen.Failures = false, nil
	after := Advance(spec, &held, seen, start.Add(2*time.Hour)).Status
	if after.Phase != Progressing || len(after.Moving) != 1 || after.Moving[0].Since.Before(start.Add(2*time.Hour)) {
		t.Errorf("resumed: %+v", after)
	}
	spec.Abort, seen.Paused = true, true
	if aborted := Advance(spec, &held, seen, start.Add(3*time.Hour)).Status; aborted.Phase != Aborted {
		t.Errorf("aborted while paused: %+v", aborted)
	}
}
