package session

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// terms are what a member published of how long its terms may last.
type terms struct {
	config, timings string
	// longest is the longest lease, session that of the session.
	longest, session time.Duration
	ppm              int
}

func (s *stated) terms() terms {
	return terms{s.config, s.setup.Timings, s.longest(), s.duration, s.setup.DriftPPM}
}

// predecessor is an earlier member of a slot that may still be at work although another member uses the slot now, or several
// of them with one configuration. So a session that takes a slot goes on telling of them, until all their work is over (rule
// published-before-held).
type predecessor struct {
	terms
	// until is when all their work is over.
	until record.Instant
	// most is for how much longer the slot said that they may work. We never say more than that: otherwise drift and rounding
	// would add up over many restarts.
	most time.Duration
}

// overAt says until when a predecessor may be at work of which the store showed at the instant at that a slot tells.
func (d *Directory) overAt(at record.Instant, told record.Predecessor) predecessor {
	most := time.Duration(told.For) * time.Second
	return predecessor{
		terms{
			told.Config, told.Timings, time.Duration(told.LongestLease) * time.Second, time.Duration(told.SessionLease) * time.Second,
			told.DriftPPM,
		},
		at.Add(d.timing.ObserverWait(most)), most,
	}
}

// last is the slot's last owner as a predecessor of the next one.
func (d *Directory) last(s *slot, now record.Instant) predecessor {
	from := now
	if s.ended {
		from = s.changedAt
	}
	until := d.overAfter(from, s)
	return predecessor{s.stated.terms(), until, until.Sub(now)}
}

// with returns all of the predecessors that may still be at work, and one more. Those with one configuration become one.
func with(all []predecessor, now record.Instant, p predecessor) []predecessor {
	all = slices.DeleteFunc(slices.Clone(all), func(p predecessor) bool { return p.until <= now })
	i := slices.IndexFunc(all, func(q predecessor) bool { return q.config == p.config && q.timings == p.timings })
	switch {
	case p.until <= now:
		return all
	case i < 0:
		return append(all, p)
	}
	q := &all[i]
	q.longest, q.session, q.ppm = max(q.longest, p.longest), max(q.session, p.session), max(q.ppm, p.ppm)
	q.until, q.most = max(q.until, p.until), max(q.most, p.most)
	return all
}

// predecessorsIn returns the predecessors of a session that takes the slot now. If there are too many, the last one stands for
// all others, and has no configuration that any member has.
func (d *Directory) predecessorsIn(name string, now record.Instant) (all []predecessor) {
	s := d.slot(name)
	if s == nil {
		return nil
	}
	for _, told := range s.stated.predecessors {
		all = with(all, now, d.overAt(s.changedAt, told))
	}
	if s.stated.identity != "" && !s.stated.left {
		all = with(all, now, d.last(s, now))
	}
	for len(all) > record.MostPredecessors {
		end := len(all) - 1
		all[end-1].config, all[end].config = "", ""
		all[end-1].timings, all[end].timings = "", ""
		all = with(all[:end], now, all[end])
	}
	return all
}

// tellOf is what a session says of its predecessors now.
func tellOf(all []predecessor, now record.Instant) (told []record.Predecessor) {
	for _, p := range all {
		if now >= p.until {
			continue
		}
		told = append(told, record.Predecessor{
			Config: p.config, Timings: p.timings, LongestLease: seconds(p.longest), SessionLease: seconds(p.session), DriftPPM: p.ppm,
			For: seconds(min(p.most, p.until.Sub(now))),
		})
	}
	return told
}

// seconds is d in whole seconds, rounded up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// noteLast remembers the last owner of a slot that is gone, or that another member uses now.
func (d *Directory) noteLast(now record.Instant, s *slot) {
	if !d.isOthers(s.name, s.stated.group) && d.mayWork(s, now) {
		d.predecessors = with(d.predecessors, now, d.last(s, now))
	}
}

// noteTold remembers the predecessors of which the slot's owner tells.
func (d *Directory) noteTold(now record.Instant, s *slot) {
	if d.isOthers(s.name, s.stated.group) {
		return
	}
	for _, told := range s.stated.predecessors {
		d.predecessors = with(d.predecessors, now, d.overAt(now, told))
		d.longest = max(d.longest, time.Duration(told.LongestLease)*time.Second)
	}
}
