package election_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// interrupted is a store in which something happens before each of the first writes.
type interrupted struct {
	lock.Store
	before []func()
	err    error
}

func (s *interrupted) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	if len(s.before) > 0 {
		s.before[0]()
		s.before = s.before[1:]
	}
	v, err := s.Store.Put(ctx, name, r, replaces)
	if s.err != nil {
		err, s.err = s.err, nil
	}
	return v, err
}

// TestForcedHandover checks that a request is written into the record of its own term, and into no other; and that it
// changes nothing else there.
func TestForcedHandover(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			// before is what happens to the lock before the first write; nil for nothing.
			before func(*record.Record)
			err    error // of the first write
			asked  bool
			want   error // nil for none
		}{
			"at once":                   {asked: true},
			"a renewal comes first":     {before: func(r *record.Record) { r.Mark.Beat++ }, asked: true},
			"its answer is lost":        {err: lock.ErrUnknown, asked: true},
			"denied":                    {before: func(r *record.Record) { r.Mark.Beat++ }, err: lock.ErrDenied, want: lock.ErrDenied},
			"another term of the same":  {before: func(r *record.Record) { r.Token, r.Mark.Beat = 8, 5 }, want: election.ErrTermOver},
			"another holder":            {before: func(r *record.Record) { r.Holder, r.Mark.Identity = "m2_00000001", "m2_00000001" }, want: election.ErrTermOver},
			"released":                  {before: func(r *record.Record) { r.Holder, r.Mark.Identity = "", "" }, want: election.ErrTermOver},
			"claimed":                   {before: func(r *record.Record) { r.Claim = &record.Claim{Identity: "other", Duration: 15 * time.Second} }, want: election.ErrNotForced},
			"a stranger broke its mark": {before: func(r *record.Record) { r.Mark = nil }, want: election.ErrNotForced},
		} {
			g := newGroup(t, "a")
			held := record.Record{
				Holder: "m1_00000001", Duration: 15 * time.Second, Transitions: 3, Token: 7, Group: "edge", Election: "a", History: []record.Entry{{Who: "m1_00000001", Why: "took over: free"}},
				Mark: &record.Mark{Identity: "m1_00000001", Transitions: 3, Beat: 4, Duration: 15 * time.Second, Renewal: record.RenewalRecord},
			}
			if _, err := g.realm.Write("a", held, record.Version{}); err != nil {
				t.Fatal(err)
			}
			store := &interrupted{Store: g.realm.Store(), err: c.err}
			if c.before != nil {
				store.before = []func(){func() {
					now := g.realm.Read("a")
					r, mark := *now.Record, *now.Record.Mark
					r.Mark = &mark
					c.before(&r)
					if _, err := g.realm.Write("a", r, now.Version); err != nil {
						t.Fatal(err)
					}
				}}
			}
			f := election.ForcedHandover{Locks: store, Lock: "a", Holder: "m1_00000001", Token: 7, To: "m2_00000001"}
			before := g.realm.Read("a").Record
			ours, err := f.Ask(aMinute(t))
			if c.want == nil != (err == nil) || c.want != nil && !errors.Is(err, c.want) || err != nil && !errors.Is(err, election.ErrNotForced) {
				t.Errorf("%s: %v", name, err)
			}
			if ours != c.asked {
				t.Errorf("%s: the request is ours: %v", name, ours)
			}
			if c.asked {
				if second, err := f.Ask(aMinute(t)); second || err != nil {
					t.Errorf("%s: the same request of another one is made anew: %v", name, err)
				}
			}
			after := *g.realm.Read("a").Record
			if (after.HandoverTo == "m2_00000001") != c.asked {
				t.Errorf("%s: it asks to hand over to %q", name, after.HandoverTo)
			}
			if after.HandoverTo = ""; c.before == nil && !reflect.DeepEqual(&after, before) {
				t.Errorf("%s: it says %+v, and said %+v", name, after, before)
			}
			other := f
			other.To = "m3_00000001"
			if err := other.Withdraw(aMinute(t)); err != nil && c.want == nil || (g.realm.Read("a").Record.HandoverTo != "") != c.asked {
				t.Errorf("%s: another request was withdrawn: %v", name, err)
			}
			if err := f.Withdraw(aMinute(t)); err != nil && c.want == nil || g.realm.Read("a").Record.HandoverTo != "" {
				t.Errorf("%s: it was not withdrawn: %v", name, err)
			}
		}
	})
}
