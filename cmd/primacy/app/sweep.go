package app

import (
	"cmp"
	"context"
	"errors"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/sweep"
)

// sweeper removes sessions that ended long ago; nil unless the configuration asks for that.
func (m *member) sweeper() listener {
	sessions := m.planner.locks.sessions()
	remover, can := sessions.(lock.Remover)
	if !m.process.Configuration.Member.RemoveSessions || !can {
		return nil
	}
	return &sweep.Sweeper{
		Group: m.process.Group, Sessions: remover, Clock: m.clock, Log: m.log,
		Elsewhere: func(ctx context.Context) ([]lock.Entry, error) {
			return locksElsewhere(ctx, m.roster.locking(), sessions)
		},
	}
}

// locksElsewhere reads the locks of elections that are not among the sessions.
func locksElsewhere(ctx context.Context, elections []election.Spec, sessions lock.Store) (all []lock.Entry, err error) {
	read := func(s lock.Store, name string) {
		if s == nil || s == sessions {
			return
		}
		e, failed := s.Get(ctx, name)
		all, err = append(all, e), errors.Join(err, failed)
	}
	for _, e := range elections {
		read(e.Locks, cmp.Or(e.Lock, e.Name))
		if e.MigrateFrom != nil {
			read(e.MigrateFrom.Locks, e.MigrateFrom.Lock)
		}
	}
	return all, err
}
