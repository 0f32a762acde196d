package election

import (
	"context"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// watching is the one stream of a realm.
type watching struct {
	cancel context.CancelFunc
	// listSent is when the list that is under way was asked for.
	listSent record.Instant
	// restart: the stream is to be begun anew, with a list.
	restart bool
	err     error
	// giveUpAt is until when a leaving member tries to end its session.
	giveUpAt record.Instant
}

// again begins the stream anew, so that a list shows everything there is.
func (w *watching) again() {
	if w.cancel != nil {
		w.restart = true
		w.cancel()
	}
}

// startWatch reads the stream on a goroutine that ends with the realm's context.
func (r *realm) startWatch() {
	ctx, cancel := context.WithCancel(r.ctx)
	r.watch.cancel, r.watch.restart = cancel, false
	r.helpers.Go(func() {
		defer cancel()
		err := r.cfg.Locks.Watch(ctx, func(e lock.Event) {
			at := r.cfg.Clock.Now()
			r.post(func() { r.watched(e, at) })
		})
		r.post(func() { r.watchEnded(err) })
	})
}

func (r *realm) watchEnded(err error) {
	switch {
	case r.ctx.Err() != nil:
	case r.watch.restart || err == nil:
		r.startWatch()
	default:
		r.log.Error("the realm cannot be watched", zap.Error(err))
		r.watch.err = err
		r.leave(machine.ReasonShutdown)
	}
}

// watched takes in one event of the stream; at is when it came out of the store.
func (r *realm) watched(e lock.Event, at record.Instant) {
	switch e.Kind {
	case lock.Changed:
		r.shown(e.Entry, machine.Stream, 0)
	case lock.Listing:
		r.watch.listSent = at
	case lock.Listed:
		r.trouble.note("watch", "", nil)
		r.listed(e)
	case lock.Resumed:
		r.trouble.note("watch", "", nil)
		r.dir.Resumed(r.cfg.Clock.Now())
	case lock.Broken:
		r.trouble.note("watch", "", e.Err)
		r.dir.Broken()
	case lock.Progressed:
	}
}

func (r *realm) listed(e lock.Event) {
	now := r.cfg.Clock.Now()
	var sessions []session.Shown
	seen := make(map[string]bool, len(e.List))
	for _, entry := range e.List {
		if r.dir.Owns(entry.Name) {
			sessions = append(sessions, session.Shown{Name: entry.Name, Record: entry.Record, Version: entry.Version})
			continue
		}
		seen[entry.Name] = true
		r.shown(entry, machine.List, r.watch.listSent)
	}
	for name := range r.byLock {
		if !seen[name] {
			absent := lock.Entry{Name: name, Version: record.Version{Revision: e.Revision}}
			r.shown(absent, machine.List, r.watch.listSent)
		}
	}
	r.viewStale = true
	if !r.dir.List(now, r.watch.listSent, e.Revision, sessions) && r.leaving == "" {
		r.notBefore = max(r.notBefore, now.Add(r.cfg.Timing.ObserverWait(r.cfg.Timing.LeaseDuration)))
		r.leave(machine.ReasonRestored)
	}
}

// shown gives one object to whom it concerns.
func (r *realm) shown(e lock.Entry, by machine.Source, sent record.Instant) {
	now := r.cfg.Clock.Now()
	if r.dir.Owns(e.Name) {
		r.viewStale = true
		r.dir.Observe(now, e.Name, e.Record, e.Version)
		return
	}
	if c := r.byLock[e.Name]; c != nil {
		r.handle(c, machine.Observed{Source: by, Record: e.Record, Version: e.Version, Sent: sent, Jitter: jitter()})
	}
}

// troubles logs what goes wrong once, and once more when it is over.
type troubles struct {
	log *zap.Logger
	was map[string]string
}

// note logs the error of an operation if it is news; a nil error ends the trouble.
func (t *troubles) note(what, name string, err error) {
	key, is := what+" "+name, ""
	if err != nil {
		is = err.Error()
	}
	was := t.was[key]
	if is == was {
		return
	}
	if is == "" {
		delete(t.was, key)
		t.log.Info("recovered", zap.String("operation", what), zap.String("object", name))
		return
	}
	if t.was == nil {
		t.was = map[string]string{}
	}
	t.was[key] = is
	t.log.Warn("failing; it is tried again", zap.String("operation", what), zap.String("object", name), zap.Error(err))
}
