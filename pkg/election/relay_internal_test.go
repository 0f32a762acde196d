package election

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// relayed are events of a watch, and what a relay told the member because of them.
type relayed struct {
	*relay
	told []string
}

func newRelayed() *relayed {
	r := &relayed{}
	r.relay = newRelay(1, func(in member.Input) {
		switch in := in.(type) {
		case member.ListSent:
			r.told = append(r.told, "sent")
		case member.ListFailed:
			r.told = append(r.told, "failed")
		case member.Shown:
			text := in.Event.Kind.String()
			for _, e := range append(in.Event.List, in.Event.Entry) {
				switch {
				case e.Name == "":
				case e.Absent():
					text += " no " + e.Name
				default:
					text += fmt.Sprintf(" %s@%d", e.Name, e.Version.Revision)
				}
			}
			if in.Event.Kind == lock.Listed {
				text += fmt.Sprintf(" at %d", in.Event.Revision)
			}
			r.told = append(r.told, text)
		}
	}, func() record.Instant { return 1 })
	r.lists(5, "a", 3)
	r.does(lock.Resumed)
	r.told = nil
	return r
}

func entry(name string, revision uint64) lock.Entry {
	return lock.Entry{Name: name, Record: &record.Record{}, Version: record.Version{UID: name, Revision: revision}}
}

// listOf is a list of entries with the given names and revisions, in pairs.
func listOf(revision uint64, entries ...any) lock.Event {
	e := lock.Event{Kind: lock.Listed, Revision: revision}
	for i := 0; i < len(entries); i += 2 {
		e.List = append(e.List, entry(entries[i].(string), uint64(entries[i+1].(int))))
	}
	return e
}

// The watch shows an event.
func (r *relayed) does(k lock.EventKind)                 { r.show(lock.Event{Kind: k}) }
func (r *relayed) lists(revision uint64, entries ...any) { r.show(listOf(revision, entries...)) }
func (r *relayed) changes(name string, revision uint64) {
	r.show(lock.Event{Kind: lock.Changed, Entry: entry(name, revision)})
}
func (r *relayed) deletes(name string, revision uint64) {
	r.show(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: name, Version: record.Version{Revision: revision}}})
}

// during lists the store once more; f does what happens meanwhile, and passes on what the list's own watch shows.
func (r *relayed) during(t *testing.T, f func(ctx context.Context, listing func(lock.Event))) {
	t.Helper()
	if err := r.relist(t.Context(), func(ctx context.Context, deliver func(lock.Event)) error {
		f(ctx, deliver)
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestRelay(t *testing.T) {
	sent, failed := lock.Event{Kind: lock.Listing}, lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown}
	for name, test := range map[string]struct {
		do   func(t *testing.T, r *relayed)
		want []string
	}{
		"behind the watch": {func(t *testing.T, r *relayed) {
			r.changes("b", 6)
			r.during(t, func(ctx context.Context, listing func(lock.Event)) {
				listing(sent)
				r.changes("b", 7)
				r.deletes("a", 8)
				r.changes("c", 9)
				r.changes("c", 10)
				listing(listOf(7, "a", 3, "b", 7, "d", 4))
				if ctx.Err() == nil {
					t.Error("the list has come, and its watch goes on")
				}
			})
			r.changes("c", 11)
		}, []string{"changed b@6", "sent", "changed b@7", "changed no a", "changed c@9", "changed c@10", "listed b@7 d@4 c@10 at 10", "changed c@11"}},
		"ahead of the watch": {func(t *testing.T, r *relayed) {
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				r.changes("b", 6)
				listing(listOf(8, "a", 3, "b", 8))
			})
			r.changes("b", 7)
			r.changes("b", 8)
			r.changes("b", 9)
		}, []string{"sent", "changed b@6", "listed a@3 b@8 at 8", "progressed", "progressed", "changed b@9"}},
		"the list fails first": {func(t *testing.T, r *relayed) {
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				r.changes("b", 6)
				listing(failed)
				r.changes("b", 7)
				listing(sent)
				listing(listOf(7, "b", 7))
			})
		}, []string{"sent", "changed b@6", "failed", "changed b@7", "sent", "listed b@7 at 7"}},
		"the store was restored": {func(t *testing.T, r *relayed) {
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				r.changes("b", 20)
				listing(failed)
				r.changes("b", 21)
				listing(sent)
				listing(listOf(10, "b", 9))
			})
		}, []string{"sent", "changed b@20", "failed", "changed b@21", "sent", "listed b@9 at 10"}},
		"while the watch is broken": {func(t *testing.T, r *relayed) {
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				r.changes("b", 6)
				r.does(lock.Broken)
				listing(listOf(7, "b", 6))
			})
			r.told = append(r.told, "…")
			r.does(lock.Resumed)
			r.changes("b", 8)
		}, []string{"sent", "changed b@6", "broken", "…", "resumed", "listed b@6 at 7", "changed b@8"}},
		"the watch lists by itself": {func(t *testing.T, r *relayed) {
			r.during(t, func(ctx context.Context, listing func(lock.Event)) {
				listing(sent)
				r.does(lock.Broken)
				r.does(lock.Listing)
				if ctx.Err() == nil {
					t.Error("the other list goes on")
				}
				r.lists(9, "b", 9)
				r.does(lock.Resumed)
				listing(listOf(7, "b", 6))
			})
			r.changes("b", 10)
		}, []string{"sent", "broken", "listing", "listed b@9 at 9", "resumed", "changed b@10"}},
		"the watch lists by itself after a list that was ahead": {func(t *testing.T, r *relayed) {
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				listing(listOf(20, "b", 20))
			})
			r.does(lock.Listing)
			r.lists(9, "b", 9) // the store was restored
			r.does(lock.Resumed)
			r.changes("b", 10)
		}, []string{"sent", "listed b@20 at 20", "listing", "listed b@9 at 9", "resumed", "changed b@10"}},
		"a list is asked for while the watch lists by itself": {func(t *testing.T, r *relayed) {
			r.does(lock.Listing)
			r.does(lock.Broken)
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				t.Error("two lists at once")
				listing(sent)
			})
			r.lists(9, "b", 9)
			r.does(lock.Resumed)
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				listing(listOf(9, "b", 9))
			})
		}, []string{"listing", "broken", "listed b@9 at 9", "resumed", "sent", "listed b@9 at 9"}},
		"the store was restored under the list": {func(t *testing.T, r *relayed) {
			r.changes("b", 20)
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				r.changes("b", 21)
				listing(listOf(10, "b", 9))
			})
		}, []string{"changed b@20", "sent", "changed b@21", "listed b@9 at 10"}},
		"the store was restored after a list ahead of the watch": {func(t *testing.T, r *relayed) {
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				listing(listOf(100, "b", 100))
			})
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				r.changes("b", 103)
				listing(listOf(75, "b", 70))
			})
		}, []string{"sent", "listed b@100 at 100", "sent", "changed b@103", "listed b@70 at 75"}},
		"the list's watch breaks after the list": {func(t *testing.T, r *relayed) {
			r.does(lock.Broken)
			r.during(t, func(_ context.Context, listing func(lock.Event)) {
				listing(sent)
				listing(listOf(7, "b", 7))
				listing(failed)
			})
			r.does(lock.Resumed)
		}, []string{"broken", "sent", "resumed", "listed b@7 at 7"}},
		"another list": {func(t *testing.T, r *relayed) {
			r.during(t, func(first context.Context, listing func(lock.Event)) {
				listing(sent)
				r.during(t, func(_ context.Context, again func(lock.Event)) {
					if first.Err() == nil {
						t.Error("the first list goes on")
					}
					again(sent)
					listing(failed)
					listing(listOf(6, "b", 6))
					again(listOf(7, "b", 7))
				})
			})
		}, []string{"sent", "sent", "listed b@7 at 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelayed()
			if test.do(t, r); !slices.Equal(r.told, test.want) {
				t.Errorf("the member was told\n%q, want\n%q", r.told, test.want)
			}
		})
	}
}
