package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// slotOf is a slot in which one member after the other has its session.
type slotOf struct {
	t       *testing.T
	dir     *Directory
	timing  record.Timing
	version record.Version
	stored  *record.Record
	now     record.Instant
}

func newSlot(t *testing.T) *slotOf {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	return &slotOf{t: t, dir: NewDirectory("g", timing), timing: timing, version: record.Version{UID: "u", Revision: 1}, now: record.Instant(time.Hour)}
}

// show stores a record, and shows it to the directory.
func (s *slotOf) show(r record.Record) {
	s.version.Revision++
	s.stored = &r
	s.dir.Observe(s.now, SlotName("g", "a", 0), s.stored, s.version)
}

// joins stores the first beat of a member that accepts the proofs, and returns its session.
func (s *slotOf) joins(identity string, proofs ...record.Proof) *Own {
	s.t.Helper()
	own := NewOwn(Config{Group: "g", Host: "a", Timing: s.timing}, s.dir, record.Member{Identity: identity, Proofs: proofs})
	s.dir.synced = true
	actions, _ := own.Step(s.now)
	w := actions[0].(Write)
	if w.Name != SlotName("g", "a", 0) {
		s.t.Fatalf("it joins in %s", w.Name)
	}
	s.show(w.Record)
	own.WriteDone(s.now, w.Beat, machine.Committed, s.version)
	return own
}

// dies stores the end of the session that its member's parent writes.
func (s *slotOf) dies(identity string) {
	s.t.Helper()
	ended, err := Bury(s.stored, s.version, record.Death{Proof: record.ProofParent, Identity: identity, By: "parent of " + identity, How: "killed", At: time.Unix(1, 0)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.show(ended)
}

// proved are the identities of the dead that the directory shows.
func (s *slotOf) proved() string {
	v, _ := s.dir.View(s.now, "")
	var dead []string
	for _, d := range v.Sessions[SlotName("g", "a", 0)].Deaths {
		if d.UID != "" {
			dead = append(dead, d.Identity)
		}
	}
	return strings.Join(dead, " ")
}

// TestASessionIsEndedByAProof checks what the end of a proved death says, and that it is a fall.
func TestASessionIsEndedByAProof(t *testing.T) {
	s := newSlot(t)
	s.joins("a_00000001", record.ProofParent)
	before := *s.stored
	s.dies("a_00000001")
	r := s.stored
	switch last := r.History[len(r.History)-1]; {
	case !r.Released() || r.Mark.Beat != before.Mark.Beat+1:
		t.Errorf("it is not ended: %+v", r.Mark)
	case last.Who != "parent of a_00000001" || last.Why != "ended: its member died (killed)":
		t.Errorf("its history says %+v", last)
	case before.Member.Deaths != nil:
		t.Error("the record of before was changed")
	}
	if d := r.Member.Deaths[0]; d.UID != "u" || d.Beat != before.Mark.Beat {
		t.Errorf("the death is that of %q, beat %d", d.UID, d.Beat)
	}
	if v, _ := s.dir.View(s.now, ""); !v.Sessions[SlotName("g", "a", 0)].Ended {
		t.Error("the directory shows no end")
	}
	if got := s.proved(); got != "a_00000001" {
		t.Errorf("the directory shows the deaths of %q", got)
	}
	s.joins("a_00000002")
	if s.stored.Member.Fallen != 1 {
		t.Errorf("its next member fell %d times, want once", s.stored.Member.Fallen)
	}
}

// TestAProofIsRefused checks what no proof ends.
func TestAProofIsRefused(t *testing.T) {
	for _, tt := range []struct {
		what, want string
		spoil      func(*record.Record, *record.Death)
	}{
		{"of another member", "session of a_00000001", func(_ *record.Record, d *record.Death) { d.Identity = "a_00000002" }},
		{"that the session does not list", "does not accept", func(r *record.Record, _ *record.Death) { r.Member.Proofs = nil }},
		{"of another kind", "does not accept", func(_ *record.Record, d *record.Death) { d.Proof = "hearsay" }},
		{"by the dead", "its own death", func(_ *record.Record, d *record.Death) { d.By = "a_00000001" }},
		{"beside a stranger's mark", "not the member's own", func(r *record.Record, _ *record.Death) { r.Mark.Identity = "x" }},
		{"beside another member", "not of a_00000001", func(r *record.Record, _ *record.Death) { r.Member.Identity = "x" }},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s := newSlot(t)
			s.joins("a_00000001", record.ProofParent)
			r, m, mark := *s.stored, *s.stored.Member, *s.stored.Mark
			r.Member, r.Mark = &m, &mark
			d := record.Death{Proof: record.ProofParent, Identity: "a_00000001", By: "parent"}
			tt.spoil(&r, &d)
			if _, err := Bury(&r, s.version, d); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// deathOf is a parent's proof for the member whose session the record is.
func deathOf(r *record.Record) record.Death {
	return record.Death{Proof: record.ProofParent, Identity: r.Holder, UID: "u", Beat: r.Mark.Beat}
}

// TestWhatASessionProves checks that a death counts only as it was first seen beside the end, and only of the
// session that it names.
func TestWhatASessionProves(t *testing.T) {
	for _, tt := range []struct {
		what  string
		spoil func(*record.Record, *record.Death)
		want  string
	}{
		{"all is well", func(*record.Record, *record.Death) {}, "a_00000001"},
		{"of another object", func(_ *record.Record, d *record.Death) { d.UID = "v" }, ""},
		{"of an earlier beat", func(_ *record.Record, d *record.Death) { d.Beat = 0 }, ""},
		{"not listed", func(r *record.Record, _ *record.Death) { r.Member.Proofs = nil }, ""},
		{"without the end", func(r *record.Record, _ *record.Death) { r.Holder, r.Mark.Identity = "a_00000001", "a_00000001" }, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s := newSlot(t)
			s.joins("a_00000001", record.ProofParent)
			r := EndedRecord(s.stored, "x", "died")
			m, d := *r.Member, deathOf(s.stored)
			r.Member = &m
			tt.spoil(&r, &d)
			m.Deaths = []record.Death{d}
			s.show(r)
			if got := s.proved(); got != tt.want {
				t.Errorf("it proves the death of %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("added later", func(t *testing.T) {
		s := newSlot(t)
		s.joins("a_00000001", record.ProofParent)
		died := deathOf(s.stored)
		r := EndedRecord(s.stored, "b_00000001", "expired")
		s.show(r)
		unbound := r
		unbound.Mark = nil
		m := *r.Member
		m.Deaths = []record.Death{died}
		r.Member = &m
		for range 2 {
			s.show(r)
			if got := s.proved(); got != "" {
				t.Errorf("a later edit proves the death of %q", got)
			}
			s.show(unbound)
		}
	})
}

// TestAProofAfterASessionWasPutBack checks that a proof counts although the session had an end before, which a stranger took back: the
// member, which did not see that end, went on until it died.
func TestAProofAfterASessionWasPutBack(t *testing.T) {
	s := newSlot(t)
	s.joins("a_00000001", record.ProofParent)
	before := *s.stored
	s.show(EndedRecord(s.stored, "b_00000001", "expired"))
	s.show(before)
	beat, mark := before, *before.Mark
	mark.Beat += 2
	beat.Mark = &mark
	s.show(beat)
	s.dies("a_00000001")
	if got := s.proved(); got != "a_00000001" {
		t.Errorf("it proves the death of %q", got)
	}
}

// TestASlotTellsOfItsDead checks that members carry on the last deaths of their slot, in each of their beats, and
// that a member that comes later learns them from there.
func TestASlotTellsOfItsDead(t *testing.T) {
	s := newSlot(t)
	var want []string
	for n := 1; n <= record.MostDeaths+2; n++ {
		identity := fmt.Sprintf("a_%08d", n)
		own := s.joins(identity, record.ProofParent)
		s.now = s.now.Add(s.timing.RenewInterval)
		actions, _ := own.Step(s.now)
		w := actions[slices.IndexFunc(actions, func(a Action) bool { w, is := a.(Write); return is && w.Beat != 0 })].(Write)
		s.show(w.Record)
		if got := s.proved(); got != strings.Join(want, " ") {
			t.Fatalf("before its death, %s's slot tells of %q, want %q", identity, got, want)
		}
		s.dies(identity)
		want = append(want, identity)
		want = want[max(0, len(want)-record.MostDeaths):]
		later := newSlot(t)
		later.version = record.Version{UID: "u", Revision: s.version.Revision}
		later.show(*s.stored)
		for _, who := range []*slotOf{s, later} {
			if got := who.proved(); got != strings.Join(want, " ") {
				t.Fatalf("after its death, %s's slot tells of %q, want %q", identity, got, want)
			}
		}
	}
}

// TestAWordNamesTheBeatThatItSaw checks that a word ends nothing but the beat that was last when it was given. The
// last beat of a session stands in its end, as with each proof.
func TestAWordNamesTheBeatThatItSaw(t *testing.T) {
	s := newSlot(t)
	s.joins("a_00000001", record.ProofOperator)
	beat := s.stored.Mark.Beat
	word := record.Death{Proof: record.ProofOperator, Identity: "a_00000001", By: "operator", UID: "u", Beat: beat}
	for _, spoil := range []func(*record.Death){
		func(d *record.Death) { d.Beat-- }, func(d *record.Death) { d.Beat++ }, func(d *record.Death) { d.UID = "v" }, func(d *record.Death) { d.UID = "" },
	} {
		d := word
		spoil(&d)
		if _, err := Bury(s.stored, s.version, d); !errors.Is(err, ErrRefuted) {
			t.Errorf("of beat %d, object %q: %v", d.Beat, d.UID, err)
		}
	}
	ended, err := Bury(s.stored, s.version, word)
	if err != nil {
		t.Fatal(err)
	}
	s.show(ended)
	if got := s.proved(); got != "a_00000001" {
		t.Errorf("the directory shows the deaths of %q", got)
	}
}

// TestAnUnseenMemberOfASlotIsProvedDead checks that a directory that saw one member's end and then, after a gap, the
// end of the next one in the same slot knows that this one is dead, too. It is no later edit of the first end.
func TestAnUnseenMemberOfASlotIsProvedDead(t *testing.T) {
	for _, first := range []string{"died", "left", "was unreadable"} {
		t.Run(first, func(t *testing.T) {
			s, gap := newSlot(t), newSlot(t)
			s.joins("a_00000001", record.ProofParent)
			want := "a_00000002"
			switch first {
			case "died":
				s.dies("a_00000001")
				want = "a_00000001 " + want
			case "left":
				s.show(EndedRecord(s.stored, "a_00000001", left))
			default: // others ended it
				r := *s.stored
				r.Member = nil
				s.show(EndedRecord(&r, "b_00000001", "ended"))
			}
			gap.version = record.Version{UID: "u", Revision: s.version.Revision - 1}
			gap.show(*s.stored)
			s.joins("a_00000002", record.ProofParent)
			s.dies("a_00000002")
			gap.version.Revision = s.version.Revision - 1
			gap.show(*s.stored)
			if got := gap.proved(); got != want {
				t.Errorf("after the gap it shows the deaths of %q, want %q", got, want)
			}
		})
	}
}

// TestAnEditedProofIsStillTold checks that a death whose proof a stranger edited proves nothing, also to those to whom later members of
// the slot tell of it, but that it is not forgotten: with onDeath: lease its locks are left alone.
func TestAnEditedProofIsStillTold(t *testing.T) {
	s := newSlot(t)
	s.joins("a_00000001", record.ProofParent)
	ended, err := Bury(s.stored, s.version, record.Death{Proof: record.ProofParent, Identity: "a_00000001", By: "parent"})
	if err != nil {
		t.Fatal(err)
	}
	mark := *ended.Mark
	mark.Beat += 100
	ended.Mark = &mark
	s.show(ended)
	tells := func(after, proved string, of ...string) {
		t.Helper()
		if got := s.proved(); got != proved {
			t.Errorf("after %s it proves the death of %q, want %q", after, got, proved)
		}
		var told []string
		for _, d := range s.dir.slot(SlotName("g", "a", 0)).deaths {
			told = append(told, d.Identity)
		}
		if !slices.Equal(told, of) {
			t.Errorf("after %s it tells of %v, want %v", after, told, of)
		}
	}
	tells("the edit", "", "a_00000001")
	s.joins("a_00000002", record.ProofParent)
	tells("another member took the slot", "", "a_00000001")
	s.dies("a_00000002")
	tells("its death", "a_00000002", "a_00000001", "a_00000002")
}
