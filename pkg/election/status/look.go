package status

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// Look reports what the realm shows now. The error says why Look could not list the realm; it
// does not retry. If you may not list ConfigMaps, the report's notes say so.
func Look(ctx context.Context, realm Realm, s Selection) (Report, error) {
	looking, cancel := context.WithCancel(ctx)
	defer cancel()
	var report Report
	var failed error
	seen := false
	err := Follow(looking, realm, s, func(r Report, trouble error) {
		if !seen {
			report, failed, seen = r, trouble, true
			cancel()
		}
	})
	switch {
	case failed != nil:
		return Report{}, failed
	case seen:
		return report, nil
	case err != nil:
		return Report{}, err
	}
	return Report{}, context.Cause(ctx)
}

// shown is an event of one of the streams.
type shown struct {
	part *part
	lock.Event
}

// Follow delivers a report at first, after every change in the realm, and every second: with
// time alone ages grow and locks begin to look expired. When ctx ends it returns nil. When a
// stream is cut it delivers why, and goes on by itself; until the stream is open again, reports say how old
// they are (Report.AsOf). It calls deliver only from the goroutine that called Follow. It starts one goroutine for each stream; they have ended when
// it returns.
func Follow(ctx context.Context, realm Realm, s Selection, deliver func(Report, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var streams sync.WaitGroup
	defer streams.Wait()
	defer cancel()
	f := follower{parts: realm.parts(s)}
	events := make(chan shown, 256)
	ended := make(chan error, len(f.parts))
	for _, p := range f.parts {
		p.known = map[string]lock.Entry{}
		streams.Go(func() {
			ended <- p.watch(ctx, func(e lock.Event) {
				select {
				case events <- shown{p, e}:
				case <-ctx.Done():
				}
			})
		})
	}
	tick := clock.NewTimer(time.Second)
	defer tick.Stop()
	for {
		select {
		case e := <-events:
			if !f.take(e, events) {
				continue
			}
		case <-tick.C:
			tick.Reset(time.Second)
		case err := <-ended:
			return err
		}
		if f.trouble != nil {
			deliver(Report{}, f.trouble)
			f.trouble = nil
		}
		if f.complete() {
			r := f.seen().Report(s, time.Now())
			r.AsOf = f.asOf()
			deliver(r, nil)
		}
	}
}

// follower collects what the streams have shown. The goroutine of Follow owns it.
type follower struct {
	parts   []*part
	trouble error
}

// take notes an event and all that wait behind it, and says whether there is news.
func (f *follower) take(e shown, more <-chan shown) (news bool) {
	for {
		news = f.takeOne(e) || news
		select {
		case e = <-more:
		default:
			return news
		}
	}
}

func (f *follower) takeOne(e shown) (news bool) {
	p := e.part
	switch e.Kind {
	case lock.Broken:
		p.cut = true
	case lock.Listed, lock.Changed, lock.Resumed:
		p.cut, p.heard = false, time.Now()
	case lock.Progressed:
		p.heard = time.Now()
	}
	switch {
	case p.denied != "" && errors.Is(e.Err, lock.ErrDenied): // also if the list says so of some names only: their locks are not absent
		clear(p.known)
		was := p.refused
		p.listed, p.refused = false, true
		return !was
	case e.Kind == lock.Listed:
		clear(p.known)
		p.listed, p.refused = true, false
		for _, entry := range e.List {
			p.known[entry.Name] = entry
		}
	case e.Kind == lock.Changed:
		p.known[e.Entry.Name] = e.Entry
		if e.Entry.Absent() {
			delete(p.known, e.Entry.Name)
		}
	case e.Kind == lock.Broken:
		f.trouble = e.Err
	default:
		return false
	}
	return true
}

// asOf is the earliest time at which a stream that is cut now last showed something; zero if none is cut.
func (f *follower) asOf() (at time.Time) {
	for _, p := range f.parts {
		if p.cut && !p.refused && (at.IsZero() || p.heard.Before(at)) {
			at = p.heard.UTC()
		}
	}
	return at
}

// complete says whether every stream has shown its list, or was denied.
func (f *follower) complete() bool {
	for _, p := range f.parts {
		if !p.listed && !p.refused {
			return false
		}
	}
	return true
}

// seen returns everything that the streams showed. A ConfigMap that two streams show counts once,
// in its newest version.
func (f *follower) seen() (all Seen) {
	maps := map[string]lock.Entry{}
	all.Elsewhere, all.blind = map[string]Seen{}, map[site]bool{}
	noted := false // one note for the ConfigMaps beside the sessions is enough
	for _, p := range f.parts {
		switch {
		case p.refused && p.namespace != "":
			all.notes, all.blind[site{p.kind, p.namespace}] = append(all.notes, p.denied), true
			continue
		case p.refused && !noted:
			noted = true
			all.notes = append(all.notes, p.denied)
			all.blind[site{ConfigMap, ""}] = p.denied == deniedAll
			continue
		case p.refused:
			continue
		}
		there := all.Elsewhere[p.namespace]
		for name, e := range p.known {
			switch {
			case p.kind == Lease && p.namespace == "":
				all.Leases = append(all.Leases, e)
			case p.kind == Lease:
				there.Leases = append(there.Leases, e)
			case p.namespace != "":
				there.ConfigMaps = append(there.ConfigMaps, e)
			default:
				if known, found := maps[name]; !found || known.Version.Revision < e.Version.Revision {
					maps[name] = e
				}
			}
		}
		if p.namespace != "" {
			all.Elsewhere[p.namespace] = there
		}
	}
	for _, e := range maps {
		all.ConfigMaps = append(all.ConfigMaps, e)
	}
	return all
}
