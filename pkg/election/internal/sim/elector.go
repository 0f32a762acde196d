package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// elector is a foreign elector of one election. It follows client-go's rules, or Istio's, and does not
// know our annotations.
type elector struct {
	w        *world
	name     string
	election int
	// istio: it has a key, waits its own duration, and steals from a holder with a lesser key.
	istio bool
	key   record.Key
	clock clock
	link  link

	lease, renewDeadline, retryPeriod time.Duration
	// releases: it releases the lock when it stops (ReleaseOnCancel). rereads: before it releases, it reads the
	// object again, but decides by what it knew before whether it holds the lock (since 0.34).
	releases, rereads bool
	// patient: its requests are given up with its renewDeadline, otherwise after half of it, as by the client that
	// client-go makes for it.
	patient bool
	// named: all its processes have the same identity. alike: their identities look like those of our members.
	named, alike bool

	prefers record.Preferred
	boots   int
	run     *run // nil while no process runs
	gone    bool
}

// run is one process of an elector.
type run struct {
	e            *elector
	identity     string
	dead, paused bool
	inbox        []func()

	// object is what the process read or wrote last; it writes that object again with other fields.
	object lock.Entry
	// observed is the record that the process decides by, since observedAt; raw is the last one that it read.
	observed, raw spec
	observedAt    record.Instant

	// leading: the process renews the lock. until is when this round of tries ends. attempt numbers the
	// attempts: replies to an earlier attempt no longer count.
	leading bool
	until   record.Instant
	attempt int
	// overslept: the process was stopped until after its renewDeadline. A real one would work on for another
	// renewDeadline, which nobody else can know of; so the model ends such a process instead.
	overslept bool

	// working: the process is at work, on a lock that it took at the store's revision began.
	working bool
	began   uint64
	// stole: the process took the lock from a living holder. freed: it took the lock after a release of ours, or
	// after a claim of ours that nobody renewed.
	stole, freed bool
	// over is our member that the lock's mark still names, although this process took the lock from another
	// elector. That elector had robbed our member, which works on until it sees the theft. over is empty if the
	// lock was bound to our member, or released by it.
	over string
	// robbedAt is the revision at which another elector stole the lock from this process.
	robbedAt uint64
	// suspected: since then a process of ours that knew of this one has written the lock.
	suspected bool
	// shown are the processes of ours that were shown the lock as this process's.
	shown []*proc
	// late: its last write came long after the one before.
	late bool
	// blanked: another elector's release, the blanker's, overwrote this process's record.
	blanked bool
	blanker *run
	// released: its release was stored while it was at work. givingUp: its renewDeadline has passed, and
	// it works on until its release has returned.
	released, givingUp bool
	renewedAt          int64 // when a write of this process was carried out last
}

// spec holds the fields that electors compare: times in whole seconds, and none of our fields.
type spec struct {
	holder            string
	key               record.Key
	duration          time.Duration
	acquired, renewed int64
	transitions       int
}

func specOf(r *record.Record) spec {
	return spec{r.Holder, r.HolderKey, r.Duration, r.Acquired.Unix(), r.Renewed.Unix(), r.Transitions}
}

func (r *run) now() record.Instant { return r.e.clock.local(r.e.w.now) }

// leader says whether the process believes that it leads: it owns a lock that bears its identity.
func (r *run) leader() bool { return r.observed.holder == r.identity }

func (r *run) valid(now record.Instant) bool {
	d := r.observed.duration
	if r.e.istio {
		d = r.e.lease
	}
	return r.observedAt.Add(d) > now
}

func (e *elector) boot() {
	if e.run != nil || e.gone {
		return
	}
	e.boots++
	e.prefers = e.w.preferred[e.election]
	r := &run{e: e, identity: e.name}
	if !e.named {
		r.identity = fmt.Sprintf("%s-%d", e.name, e.boots)
	}
	if e.alike {
		r.identity = record.NewIdentity(r.identity, 0)
	}
	e.run = r
	e.w.logf(e.name, "%s: stands as %s", e.w.elections[e.election], r.identity)
	r.after(e.w.upTo(e.retryPeriod), r.try)
}

// deliver has the process do f now, or when its pause ends.
func (r *run) deliver(f func()) {
	switch {
	case r.dead:
	case r.paused:
		r.inbox = append(r.inbox, f)
	default:
		f()
	}
}

// after does f later, unless the process has begun another attempt by then.
func (r *run) after(d time.Duration, f func()) {
	attempt := r.attempt
	r.e.w.at(r.e.clock.when(r.now().Add(d)), func() {
		r.deliver(func() {
			if r.attempt == attempt {
				f()
			}
		})
	})
}

var errNoAnswer = errors.New("no answer")

// call sends a request. It calls then exactly once: with the answer, or with errNoAnswer.
func (r *run) call(f fate, act func() error, then func(error)) {
	w := r.e.w
	timeout := r.e.renewDeadline / 2
	if r.e.patient {
		timeout = r.e.renewDeadline
	}
	carriedOut, answered := r.e.link.course(f, timeout)
	attempt, done := r.attempt, false
	finish := func(err error) {
		r.deliver(func() {
			if !done && r.attempt == attempt {
				done = true
				then(err)
			}
		})
	}
	if f != delivered {
		w.cov.saw(fateFaults[f])
	}
	w.at(r.e.clock.when(r.now().Add(timeout)), func() { finish(errNoAnswer) })
	switch {
	case f == refused || f == throttled:
		w.at(answered, func() { finish(errNoAnswer) })
	case carriedOut != 0:
		w.at(carriedOut, func() {
			err := act()
			if answered != 0 {
				w.at(answered, func() { finish(err) })
			}
		})
	}
}

func (r *run) get(then func(lock.Entry, error)) {
	var e lock.Entry
	r.call(r.e.link.readFate(), func() error {
		e = r.e.w.store.read(r.e.w.elections[r.e.election])
		return nil
	}, func(err error) { then(e, err) })
}

// put writes the object as this process knows it, with other fields.
func (r *run) put(next record.Record, then func(error)) {
	w, name, onto := r.e.w, r.e.w.elections[r.e.election], r.object
	next.Renewed = w.wall()
	if next.Acquired.IsZero() {
		next.Acquired = next.Renewed
	}
	var e lock.Entry
	r.call(r.e.link.writeFate(), func() (err error) {
		if e, err = w.store.put(w.now, name, &next, onto.Version); err == nil {
			r.stored(onto.Record, e)
		}
		return err
	}, func(err error) {
		if err == nil {
			r.object, r.observed, r.observedAt = e, specOf(e.Record), r.now()
		}
		then(err)
	})
}

// held is the record that the process writes as the holder.
func (r *run) held() record.Record {
	var next record.Record
	if r.object.Record != nil {
		next = *r.object.Record
	}
	next.Holder, next.Duration, next.Acquired = r.identity, r.e.lease, time.Time{}
	switch {
	case r.e.istio:
		next.HolderKey = r.e.key
	case r.e.w.store.wholeSeconds[r.e.w.elections[r.e.election]]:
		next.HolderKey = "" // its elector knows no such field of the annotation
	}
	if r.leader() {
		next.Acquired, next.Transitions = time.Unix(r.observed.acquired, 0).UTC(), r.observed.transitions
	} else if r.object.Record != nil {
		next.Transitions++
	}
	return next
}

// try makes one attempt to take the lock, or to renew it.
func (r *run) try() {
	now := r.now()
	if r.e.istio || !r.leader() || !r.valid(now) {
		r.look(now)
		return
	}
	r.put(r.held(), func(err error) {
		if err != nil {
			r.look(now)
			return
		}
		r.won()
	})
}

func (r *run) look(now record.Instant) {
	r.get(func(e lock.Entry, err error) {
		if err != nil {
			r.failed()
			return
		}
		r.object = e
		if e.Record != nil {
			if raw := specOf(e.Record); raw != r.raw {
				r.raw, r.observed, r.observedAt = raw, raw, r.now()
			}
			if e.Record.Holder != "" && r.valid(now) && !r.leader() {
				if !r.steals(e.Record) {
					r.failed()
					return
				}
			}
		}
		r.put(r.held(), func(err error) {
			if err != nil {
				r.failed()
				return
			}
			r.won()
		})
	})
}

// steals says whether the process takes the lock from a living holder, as Istio's does.
func (r *run) steals(held *record.Record) bool {
	return r.e.istio && priority.RevisionLocation{}.Outranks(r.e.key, held.HolderKey, r.e.prefers)
}

func (r *run) won() {
	if !r.leading {
		if r.e.w.now > r.renewedAt+int64(r.e.renewDeadline) {
			r.exit() // it was stopped for long before it heard that it leads
			return
		}
		r.leading = true
		r.work()
	}
	r.until = 0
	r.after(r.e.retryPeriod, r.renew)
}

// renew begins a round of tries, which ends at renewDeadline.
func (r *run) renew() {
	r.until = r.now().Add(r.e.renewDeadline)
	until, attempt := r.until, r.attempt
	r.e.w.at(r.e.clock.when(until), func() {
		if r.dead || r.until != until || r.attempt != attempt {
			return
		}
		if r.paused {
			r.overslept = true
			r.rest()
			return
		}
		r.giveUp()
	})
	r.try()
}

func (r *run) failed() {
	if r.leading {
		r.after(r.e.retryPeriod, r.try)
		return
	}
	r.after(r.e.retryPeriod+r.e.w.upTo(r.e.retryPeriod*6/5), r.try)
}
