package member

import (
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Preference says which revision should lead which election at one moment. It does not
// change.
type Preference interface {
	// Digest stands for everything from which For follows.
	Digest() string
	// For is what is preferred for the election of that name.
	For(election string) record.Preferred
}

// notSynced is what is preferred before the source said anything.
var notSynced = record.Preferred{State: record.PreferredNotSynced}

// prefer takes in what is preferred; the session publishes that we see it: at once, where our
// revision is preferred in an election, since its holder waits for that; else a moment later.
// An election for which nothing changed is not told.
func (m *Member) prefer(p Preference) {
	m.preference = p
	m.log.Info("preferred revision", zap.String("preferred", p.Digest()))
	gains := false
	m.contests.each(func(c *contest) {
		before, now := c.preferred, m.preferenceOf(c)
		gains = gains || now.revision.Revision == m.cfg.Revision
		c.preferred = now
		switch {
		case now.revision != before.revision:
			m.handle(c, machine.PreferenceChanged{})
		case now.digest != before.digest:
			m.handle(c, machine.Tick{}) // others may see the same as we do now
		}
	})
	switch {
	case gains || !m.own.Joined() || m.published == notSynced.Digest():
		m.publishAt = m.now
	case m.publishAt == 0: // however often it changes, the others hear of it
		m.publishAt = m.now.Add(gainersFirst)
	}
}

// preferred is what is preferred for an election. Elections for which that is the same share one copy: it
// does not change.
type preferred struct {
	revision record.Preferred
	digest   string
}

// unsynced is what is known before the source said anything.
var unsynced = &preferred{notSynced, notSynced.Digest()}

// preferenceOf is what this incarnation knows of an election's preferred revision.
func (m *Member) preferenceOf(c *contest) *preferred {
	now := preferred{m.preference.For(c.name()), m.preference.Digest()}
	if m.preferred == nil || *m.preferred != now {
		m.preferred = &now
	}
	return m.preferred
}

// gainersFirst is how much later a member says that it sees a changed preference by which it gains
// nothing: the holder waits to hear that of those who gain.
const gainersFirst = 25 * time.Millisecond
