package session

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// heardOf is a word about the session in a slot, as it is now.
func (s *slotOf) heardOf(identity string) (*Word, Shown) {
	s.t.Helper()
	seen := Shown{Name: SlotName("g", "a", 0), Record: s.stored, Version: s.version}
	w, err := Hear(s.now, seen, record.Death{Proof: record.ProofOperator, Identity: identity, By: "operator", How: "said so"})
	if err != nil {
		s.t.Fatal(err)
	}
	return w, seen
}

// TestAWordIsStepped steps a word through what its reads may show, without a store.
func TestAWordIsStepped(t *testing.T) {
	for _, tt := range []struct {
		what string
		// act happens after a third of the reads. after is how long after the word the last read goes out, in terms of the silence.
		act   func(*slotOf, *Word)
		after float64
		want  Heard
		err   error
	}{
		{what: "silent for long enough", after: 1, want: PutEnd},
		{what: "silent for less", after: 0.999, want: Wait},
		{what: "a read fails in between", act: func(_ *slotOf, w *Word) { w.Failed() }, after: 1.2, want: Wait},
		{what: "a read fails in between, long ago", act: func(_ *slotOf, w *Word) { w.Failed() }, after: 1.8, want: PutEnd},
		{what: "a beat comes", act: func(s *slotOf, _ *Word) { s.beats() }, after: 1, err: ErrRefuted},
		{what: "it was ended by another", act: func(s *slotOf, _ *Word) { s.show(EndedRecord(s.stored, "b_00000001", "expired")) }, after: 1, want: Over},
		{what: "the object is another one", act: func(s *slotOf, _ *Word) { s.version.UID = "v" }, after: 1, err: ErrRefuted},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s := newSlot(t)
			s.joins("a_00000001", record.ProofOperator)
			w, seen := s.heardOf("a_00000001")
			began := s.now
			quiet, err := CheckWord(seen, record.Death{Proof: record.ProofOperator, Identity: "a_00000001", By: "operator"})
			if err != nil {
				t.Fatal(err)
			}
			var heard Heard
			var end record.Record
			const reads = 100
			for n := 0; n <= reads && heard != PutEnd && heard != Over && err == nil; n++ {
				if tt.act != nil && n == reads/3 {
					tt.act(s, w)
				}
				s.now = began.Add(time.Duration(float64(quiet) * tt.after * float64(n) / reads))
				heard, end, err = w.Answered(s.now, s.now, Shown{Name: seen.Name, Record: s.stored, Version: s.version})
			}
			if heard != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %d and %v, want %d and %v", heard, err, tt.want, tt.err)
			}
			if heard == PutEnd && (!end.Released() || end.Member.Deaths[0].Beat != seen.Record.Mark.Beat || w.Seen() != seen.Version) {
				t.Errorf("the end is %+v", end.Mark)
			}
		})
	}
}

// beats stores the next beat of the session.
func (s *slotOf) beats() {
	r, mark := *s.stored, *s.stored.Mark
	mark.Beat++
	r.Mark = &mark
	s.show(r)
}

// TestAWordOfAnotherIsRefused checks that a word counts only for the session of exactly the identity that it names.
func TestAWordOfAnotherIsRefused(t *testing.T) {
	s := newSlot(t)
	s.joins("a_00000001", record.ProofOperator)
	_, err := Hear(s.now, Shown{Record: s.stored, Version: s.version}, record.Death{Proof: record.ProofOperator, Identity: "a_00000002", By: "operator"})
	if err == nil || !strings.Contains(err.Error(), "not of a_00000002") {
		t.Errorf("got %v", err)
	}
}
