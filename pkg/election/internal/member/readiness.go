package member

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// tendReadiness handles a runner that has become ready, or unready.
func (m *Member) tendReadiness(in Ready) {
	if i := slices.IndexFunc(m.postponed, func(e *Election) bool { return e.ID == in.ID }); i >= 0 {
		known := *m.postponed[i] // a copy: the host's own must not change
		known.Unready, known.Lacks = !in.Ready, in.Lacks
		m.postponed[i] = &known
	}
	c := m.contests.of[in.ID]
	if c != nil && !c.over {
		if delete(m.lacks, c); !in.Ready {
			m.lacks[c] = in.Lacks
		}
	}
	switch {
	case c == nil || c.over || m.unready.has(c) == !in.Ready:
		return
	case in.Ready:
		m.unready.remove(c)
	default:
		m.unready.add(c)
	}
	c.each(func(c *contest) { m.handle(c, machine.Tick{}) })
}

// unready lists the election while its runner is not ready, or while no list has shown a lock of it because lists fail, as the session
// does: we judge ourselves by what the others read of us.
func (c *contest) unready() []string {
	if c.m.crowded {
		return []string{record.EveryElection}
	}
	own := c
	if c.inner != nil {
		own = c.inner
	}
	if !c.m.unready.has(own) && !own.unlisted() {
		return nil
	}
	return []string{own.name()}
}
