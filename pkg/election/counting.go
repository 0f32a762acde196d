package election

import (
	"context"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// count notes what the inputs of a turn show to those who observe this member.
func (h *host) count(in []member.Input, now record.Instant) {
	for _, one := range in {
		switch one := one.(type) {
		case member.Shown:
			if h.own[one.Watch] {
				h.m.tally.saw(h.cfg.Group, one, h.cfg.Clock.Wall())
			}
		case member.Returned:
			if told, stopping := h.stopping[one.ID]; stopping {
				h.m.tally.stops.note(now.Sub(told))
				if delete(h.stopping, one.ID); len(h.stopping) == 0 {
					h.stopping = nil // a map does not shrink
				}
			}
		}
	}
}

// stops notes that a work is told to stop now.
func (h *host) stops(id member.ID, w *work) {
	if w.gone.Load() {
		return
	}
	if h.stopping == nil {
		h.stopping = map[member.ID]record.Instant{}
	}
	h.stopping[id] = h.cfg.Clock.Now()
}

// Priority is how urgent a request is for a member.
type Priority string

const (
	// PrioritySession: beats, and whatever else sessions need. They never wait.
	PrioritySession Priority = "session"
	// PriorityRenewal: renewals of single locks, which come before the rest.
	PriorityRenewal Priority = "renewal"
	// PriorityLock: all other requests for locks.
	PriorityLock Priority = "lock"
	// PriorityNone: requests that are not a Manager's, and watches.
	PriorityNone Priority = "none"
)

type priorityKey struct{}

func withPriority(ctx context.Context, do member.Send) context.Context {
	p := PriorityLock
	switch {
	case do.Write == nil:
	case do.Purpose == 0:
		p = PrioritySession
	case do.Purpose == machine.Renew:
		p = PriorityRenewal
	}
	return context.WithValue(ctx, priorityKey{}, p)
}

// PriorityOf is the Priority of the request that a store was asked for with the context, for those who count requests.
func PriorityOf(ctx context.Context) Priority {
	if p, is := ctx.Value(priorityKey{}).(Priority); is {
		return p
	}
	return PriorityNone
}
