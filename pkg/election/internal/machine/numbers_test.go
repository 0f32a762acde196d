package machine

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestNumbersThatAStrangerSet checks that we don't count on from transitions that a stranger set to the
// highest readable value: nobody could read the record of the next term, and two would work. It also checks
// that we ignore the token that a stranger set.
func TestNumbersThatAStrangerSet(t *testing.T) {
	for _, tt := range []struct {
		token, own  record.Token
		transitions int
		wantToken   record.Token
		wantCount   int
	}{
		{7, 0, 3, 50, 4},
		{900, 49, 3, 50, 4},
		{7, 80, 3, 81, 4},
		{record.MaxToken, 0, record.MaxTransitions - 1, 50, record.MaxTransitions},
		{record.MaxToken, 0, record.MaxTransitions, 50, 1},
	} {
		r := record.Record{Token: tt.token, Transitions: tt.transitions, Mark: &record.Mark{Transitions: tt.transitions}}
		v := record.Version{UID: "u", Revision: 50}
		s := newStep(Config{}, State{}, 1)
		s.Term.Token = tt.own
		s.Lock = Lock{Seen: true, Record: &r, Version: v, Owner: Free, streamed: v}
		s.take()
		if len(s.actions) != 1 {
			t.Fatalf("actions %v", s.actions)
		}
		w := s.actions[0].(Write).Record
		if w.Token != tt.wantToken || w.Transitions != tt.wantCount || w.Mark.Transitions != tt.wantCount {
			t.Errorf("after token %d and transitions %d come %d and %d", tt.token, tt.transitions, w.Token, w.Transitions)
		}
	}
}
