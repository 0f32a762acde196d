package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// These show what a Member knows, for simulations that judge it. The results are read-only, and valid
// until the next Step.

// State is the machine's state for an election's own lock; nil if the member takes no part.
func (m *Member) State(id ID) *machine.State {
	c := m.contests.of[id]
	if c == nil || c.over {
		return nil
	}
	return c.now()
}

// View is what the machines know of the others.
func (m *Member) View() *machine.View { return m.view }

// Directory is what the member saw of all sessions.
func (m *Member) Directory() *session.Directory { return m.dir }

// Says is what the session says of this member.
func (m *Member) Says() record.Member { return m.says() }

// Leaving is why this member leaves; empty while it does not.
func (m *Member) Leaving() machine.Reason { return m.leaving }
