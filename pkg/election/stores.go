package election

import (
	"context"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// store makes what the member must know of a store: a number that stands for it, and how it is watched.
func (h *host) store(s lock.Store) member.Store {
	at := slices.Index(h.m.stores, s)
	if at < 0 {
		at = len(h.m.stores)
		h.m.stores = append(h.m.stores, s)
	}
	_, byName := s.(lock.NameWatcher)
	return member.Store{ID: int32(at), ByName: byName, Place: h.m.placeOf(s), Objects: h.m.objectsOf(s)} // #nosec G115 -- a few stores
}

// send makes a request to a store.
func (h *host) send(store lock.Store, do member.Send) member.Answered {
	ctx, cancel := context.WithTimeout(h.ctx, do.Timeout)
	defer cancel()
	answer := member.Answered{Request: do.Request}
	if do.Write == nil {
		answer.Entry, answer.Err = store.Get(withPriority(ctx, do), do.Name)
	} else {
		if do.Purpose == 0 {
			h.expect(do.Name, do.Write.Holder)
		}
		began := h.cfg.Clock.Now()
		answer.Entry.Version, answer.Err = store.Put(withPriority(ctx, do), do.Name, *do.Write, do.Replaces)
		h.m.tally.wrote(do, h.cfg.Clock.Now().Sub(began), answer.Err)
	}
	return answer
}

// watching is a watch of a store: what it ends with, what passes its events on, and how to begin another like it.
type watching struct {
	ctx   context.Context
	end   context.CancelFunc
	relay *relay
	begin func(context.Context, []string, func(lock.Event)) error
	// endTrial ends the trial list under way; nil if there was none.
	endTrial context.CancelFunc
}

// watch watches a store on a goroutine that ends with EndWatch, or with the incarnation.
func (h *host) watch(do member.Watch) {
	ctx, cancel := context.WithCancel(h.ctx)
	own := do.Store.ID == member.Own.ID
	if own {
		h.own[do.Watch] = true
	}
	store := h.m.stores[do.Store.ID]
	watch := func(ctx context.Context, _ []string, deliver func(lock.Event)) error {
		return store.Watch(ctx, deliver)
	}
	if by, is := store.(lock.NameWatcher); is {
		watch = by.WatchNames
	}
	r := newRelay(do.Watch, h.post, h.cfg.Clock.Now)
	h.watches[do.Watch] = watching{ctx: ctx, end: cancel, relay: r, begin: watch}
	h.helpers.Go(func() {
		defer cancel()
		err := watch(ctx, do.Names, func(e lock.Event) {
			if e.Kind == lock.Listed && own {
				h.m.pulse.listed.Store(true)
			}
			r.show(e)
		})
		h.post(member.WatchEnded{Watch: do.Watch, Err: err})
	})
}

// relist has a store listed beside its watch, on a goroutine that ends with the list, or with the watch.
func (h *host) relist(do member.Relist) {
	w, on := h.watches[do.Watch]
	if !on {
		return
	}
	list := w.relay.relist
	if do.Names != nil {
		list = h.trial(do, &w)
	}
	h.helpers.Go(func() {
		if err := list(w.ctx, func(ctx context.Context, deliver func(lock.Event)) error {
			return w.begin(ctx, do.Names, deliver)
		}); err != nil {
			w.end() // the next watch fails, too, and says why
		}
	})
}

// trial returns what tells the member whether a list of other names passes, in place of the watch's last trial.
func (h *host) trial(do member.Relist, w *watching) func(context.Context, func(context.Context, func(lock.Event)) error) error {
	if w.endTrial != nil {
		w.endTrial()
	}
	ctx, cancel := context.WithCancel(w.ctx)
	w.endTrial = cancel
	h.watches[do.Watch] = *w
	return func(_ context.Context, watch func(context.Context, func(lock.Event)) error) error {
		defer cancel()
		err := watch(ctx, func(e lock.Event) {
			switch e.Kind {
			case lock.Broken:
				h.post(member.ListFailed{Watch: do.Watch, Trial: do.Trial, Err: e.Err})
			case lock.Listed:
				cancel()
				h.post(member.ListPassed{Watch: do.Watch, Trial: do.Trial})
			case lock.Listing, lock.Changed, lock.Resumed, lock.Progressed:
			}
		})
		if ctx.Err() != nil {
			return nil // we ended it
		}
		return err
	}
}

// forgetWatches forgets the watches that are over by these inputs, and ends the trials of those that have listed by themselves.
func (h *host) forgetWatches(in []member.Input) {
	for _, one := range in {
		switch one := one.(type) {
		case member.WatchEnded:
			delete(h.watches, one.Watch)
			delete(h.own, one.Watch)
		case member.Shown:
			if one.Event.Kind == lock.Listed && h.watches[one.Watch].endTrial != nil {
				h.watches[one.Watch].endTrial()
			}
		}
	}
}
