package member

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Preference says which revision should lead each election at one moment. It is immutable.
type Preference interface {
	// Digest is a digest of all that For depends on.
	Digest() string
	// For is the preferred revision of the election with that name.
	For(election string) record.Preferred
}

// notSynced is the preference before the source said anything.
var notSynced = record.Preferred{State: record.PreferredNotSynced}

// prefer handles a new preference. The session publishes that we see it: at once if an election prefers
// our revision, since the holder waits for members of that revision; else a moment later. prefer steps only
// the contests for which something changed.
func (m *Member) prefer(p Preference) {
	m.preference = p
	m.log.Info("preferred revision", zap.String("preferred", p.Digest()))
	gains := false
	m.contests.each(func(c *contest) {
		before, now := c.preferred, m.preferenceOf(c)
		gains = gains || now.revision.Revision == m.cfg.Revision
		c.preferred = now
		switch {
		case now.revision.State != before.revision.State || now.revision.Revision != before.revision.Revision:
			m.handle(c, machine.PreferenceChanged{})
		case *now != *before:
			m.handle(c, machine.Tick{}) // an operator said something else, or others may see the same preference as we do now
		}
	})
	switch {
	case gains || !m.own.Joined() || m.published == notSynced.Digest():
		m.publishAt = m.now
	case m.publishAt == 0: // do not postpone it again: the preference may change all the time
		m.publishAt = m.now.Add(gainersFirst)
	}
}

// preferred is the preference for one election. It is immutable, so elections with the same one share it.
type preferred struct {
	revision record.Preferred
	digest   string
}

// unsynced is the contests' preference before the source said anything.
var unsynced = &preferred{notSynced, notSynced.Digest()}

// preferenceOf looks up the preference for an election.
func (m *Member) preferenceOf(c *contest) *preferred {
	now := preferred{m.preference.For(c.name()), m.preference.Digest()}
	if m.preferred == nil || *m.preferred != now {
		m.preferred = &now
	}
	return m.preferred
}

// gainersFirst is how long a member waits before it publishes a preference that does not prefer its
// revision: the holder waits only for members whose revision is preferred.
const gainersFirst = 25 * time.Millisecond
