package scenario

import (
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// shown takes in one change that the stream shows.
func (i *incarnation) shown(e lock.Entry) {
	if i.dir.Owns(e.Name) {
		i.viewStale = true
		i.dir.Observe(i.p.now(), e.Name, e.Record, e.Version)
		i.sawBeat(e)
		return
	}
	i.tendView(i.p.now()) // whose the record is follows from the sessions shown before it
	if c := i.contestOf(e.Name); c != nil {
		c.observed(machine.Stream, e, 0)
	}
}

// contestOf is the part in the election whose lock has that name.
func (i *incarnation) contestOf(name string) *contest {
	for _, c := range i.contests {
		if c != nil && c.object() == name {
			return c
		}
	}
	return nil
}

// listed takes in a consistent list: sessions first, since whose a record is may follow
// from them, and our own beat last, since it is worth what was shown before it.
func (i *incarnation) listed(sent record.Instant, revision uint64, entries []lock.Entry) {
	var sessions []session.Shown
	locks := map[string]lock.Entry{}
	for _, e := range entries {
		if i.dir.Owns(e.Name) {
			sessions = append(sessions, session.Shown{Name: e.Name, Record: e.Record, Version: e.Version})
		} else {
			locks[e.Name] = e
		}
	}
	if !i.dir.List(i.p.now(), sent, revision, sessions) {
		panic("scenario: the store was never restored")
	}
	i.viewStale = true
	i.tendView(i.p.now())
	i.each(func(c *contest) {
		e, there := locks[c.object()]
		if !there {
			e = lock.Entry{Name: c.object(), Version: record.Version{Revision: revision}}
		}
		c.observed(machine.List, e, sent)
	})
	for _, s := range sessions {
		i.sawBeat(lock.Entry{Name: s.Name, Record: s.Record, Version: s.Version})
	}
}
