package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// What a Member knows, for those who judge it. Nothing of it is to be written to, and it is as it
// is until the next Step.

// State is that of the machine of an election's own lock; nil where it takes no part.
func (m *Member) State(id ID) *machine.State {
	c := m.contests.of[id]
	if c == nil || c.over {
		return nil
	}
	return c.now()
}

// View is what the machines know of the others.
func (m *Member) View() *machine.View { return m.view }

// Directory is what was seen of all sessions.
func (m *Member) Directory() *session.Directory { return m.dir }

// Says is what the session says of this member.
func (m *Member) Says() record.Member { return m.says() }

// Leaving is why everything is being given up; empty while nothing is.
func (m *Member) Leaving() machine.Reason { return m.leaving }
