package member

import (
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// tendReadiness takes in that a runner has become ready, or is not any more.
func (m *Member) tendReadiness(in Ready) {
	c := m.contests.of[in.ID]
	if c == nil || c.over || c.entrant.unready == !in.Ready {
		return
	}
	c.entrant.unready = !in.Ready
	m.noteReadiness(c)
	c.each(func(c *contest) { m.handle(c, machine.Tick{}) })
}

// noteReadiness has our session, and the machine, know how the election's runner is.
func (m *Member) noteReadiness(c *contest) {
	m.unready.remove(c)
	if c.entrant.unready {
		m.unready.add(c)
	}
}

// unready is the election's name while its runner is not ready, as the machine wants to know:
// what the others read of us, we go by ourselves.
func (c *contest) unready() []string {
	if c.member.crowded {
		return []string{record.EveryElection}
	}
	own := c
	if c.inner != nil {
		own = c.inner
	}
	if !c.member.unready.has(own) {
		return nil
	}
	return []string{own.name()}
}
