package sweep

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Defaults of a Sweeper.
const (
	// Every is the time between two looks. Each is up to twice as long, at random, so that members do not all look at once.
	Every = 2 * time.Minute
	// Keep is how long a session stays after its end was first seen, so that people and commands can still read it.
	Keep = time.Hour
	// Most is how many of the latest sessions stay for that long. Earlier ones go as soon as that is safe.
	Most = 32
)

// Sweeper removes the sessions that ended long ago, while a member runs. Any number of members may do so.
type Sweeper struct {
	Group    string
	Sessions lock.Remover
	// Elsewhere returns the locks that the store of the sessions does not show; nil if there are none.
	Elsewhere func(context.Context) ([]lock.Entry, error)
	Clock     clock.Clock
	Log       *zap.Logger
	// Every, Keep and Most are as the constants of these names; zero for those.
	Every, Keep time.Duration
	Most        int

	// first is when each session was first seen in its present version. The goroutine of Run owns it.
	first map[string]sighting
	// said: the log has the refusal, or the failure, of the last look already.
	said string
}

type sighting struct {
	version record.Version
	at      record.Instant
}

// Run looks and removes until ctx ends. It removes nothing that it has not seen twice.
func (s *Sweeper) Run(ctx context.Context) {
	s.first = map[string]sighting{}
	for {
		next, err := s.sweep(ctx)
		if ctx.Err() != nil {
			return
		}
		s.tell(err)
		if !clock.Wait(ctx, next) {
			return
		}
	}
}

// tell logs why a look failed, once for each kind of reason.
func (s *Sweeper) tell(err error) {
	kind := ""
	if err != nil {
		kind = lock.Kind(err)
	}
	if kind != "" && kind != s.said {
		s.Log.Warn("sessions that ended long ago are not removed", zap.Error(err))
	}
	s.said = kind
}

// sweep looks once, and removes what may go. It returns the time until the next look.
func (s *Sweeper) sweep(ctx context.Context) (next time.Duration, err error) {
	every := cmp.Or(s.Every, Every)
	next = every + rand.N(every) // #nosec G404 -- it spreads looks, and decides nothing
	sent := s.Clock.Now()
	leases, err := List(ctx, s.Sessions)
	if err != nil {
		return next, err
	}
	var elsewhere []lock.Entry
	if s.Elsewhere != nil {
		if elsewhere, err = s.Elsewhere(ctx); err != nil {
			return next, err
		}
	}
	due, soonest := s.due(sent, Ended(s.Group, leases, elsewhere))
	if soonest > 0 {
		next = min(next, max(soonest, every/4))
	}
	var removed []string
	for _, e := range slices.Backward(due) {
		err = s.Sessions.Remove(ctx, e.Name, e.Version)
		if errors.Is(err, lock.ErrConflict) || errors.Is(err, lock.ErrVanished) {
			err = nil // a member uses the slot again, or another one was faster
			continue
		}
		if err != nil {
			break
		}
		removed = append(removed, e.Name)
	}
	if len(removed) > 0 {
		s.Log.Info("removed sessions that ended long ago", zap.Int("count", len(removed)), zap.Strings("sessions", removed[:min(len(removed), shown)]))
	}
	return next, err
}

// shown is how many names a line of the log has.
const shown = 8

// due returns those of the sessions that may go, by a look that was sent at the instant sent. soonest is when the next one
// may go merely because time passes; zero if none can.
func (s *Sweeper) due(sent record.Instant, ended []Session) (due []Session, soonest time.Duration) {
	now := s.Clock.Now()
	first := make(map[string]sighting, len(ended))
	for i, e := range ended {
		seen := s.first[e.Name]
		if seen.version != e.Version {
			seen = sighting{e.Version, now}
		}
		first[e.Name] = seen
		wait := e.Quiet
		if i < cmp.Or(s.Most, Most) {
			wait = max(wait, cmp.Or(s.Keep, Keep))
		}
		switch left := wait - sent.Sub(seen.at); {
		case e.Kept != "":
		case left <= 0:
			due = append(due, e)
		case soonest == 0 || left < soonest:
			soonest = left
		}
	}
	s.first = first
	return due, soonest
}
