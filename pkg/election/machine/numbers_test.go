package machine

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Numbers that a stranger set as high as they can be read are not counted on from: the
// record of the next term would be one that nobody can read, and two would work.
func TestHighestNumbersAreNotCountedOn(t *testing.T) {
	for _, tt := range []struct {
		token       record.Token
		transitions int
		wantToken   record.Token
		wantCount   int
	}{
		{7, 3, 50, 4},
		{900, 3, 901, 4},
		{record.MaxToken - 1, record.MaxTransitions - 1, record.MaxToken, record.MaxTransitions},
		{record.MaxToken, record.MaxTransitions, 50, 1},
	} {
		r := record.Record{Token: tt.token, Transitions: tt.transitions, Mark: &record.Mark{Transitions: tt.transitions}}
		v := record.Version{UID: "u", Revision: 50}
		s := &step{}
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
