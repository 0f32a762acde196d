package scenario

import (
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// request is one write.
type request struct {
	name     string
	record   record.Record
	replaces record.Version
	// counts is the counter of its kind.
	counts *int
	// done is told what became of it.
	done func(*request)

	sent    record.Instant
	entry   lock.Entry
	outcome machine.Outcome
}

// put sends a write.
func (i *incarnation) put(q *request) {
	w := i.p.w
	*q.counts++
	q.sent, q.outcome = i.p.now(), machine.Unknown
	stamped := stamp(q.record, w.wall())
	i.course(func() {
		var err error
		q.entry, err = w.store.put(q.name, stamped, q.replaces)
		q.outcome = machine.Committed
		if err != nil {
			q.outcome = machine.Rejected
			return
		}
		for _, p := range w.members {
			if p.inc != nil {
				p.inc.stream.kick()
			}
		}
	}, func() { q.done(q) })
}

// get sends a consistent read, and tells one of the two what came of it.
func (i *incarnation) get(name string, read func(lock.Entry, record.Instant), failed func()) {
	w, sent := i.p.w, i.p.now()
	w.count.Reads++
	var e lock.Entry
	ok := false
	i.course(func() { e, ok = w.store.get(name), true }, func() {
		if ok {
			read(e, sent)
		} else {
			failed()
		}
	})
}

// course has the API act on a request and the incarnation hear of it. Where the API is away
// nothing answers, and nobody knows whether it acted.
func (i *incarnation) course(act, heard func()) {
	w := i.p.w
	acts := w.now + int64(writeLatency)
	w.at(acts, func() {
		if !w.away(acts) {
			act()
		}
		i.do(heard)
	})
}
