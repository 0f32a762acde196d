package member

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// says is what our session publishes of this member now. It also drops contests from lowered whose
// standing is restored, and sets crowded.
func (m *Member) says() record.Member {
	for _, c := range m.lowered.all() {
		if c.state.Standing(m.now) {
			m.lowered.remove(c)
		}
	}
	config, setup := m.setup.published(&m.cfg)
	says := record.Member{
		Identity: m.identity, Revision: m.cfg.Revision, Location: m.cfg.Location, Weight: m.cfg.Weight,
		Ready:      (m.leaving == "" || m.unreadyAt != 0) && m.sight.clear() && !m.sightless(),
		Preference: m.published, Config: config, Setup: setup, Open: m.openTerms(),
		Disowned: m.disownedNow(), Proofs: m.cfg.Proofs, Container: m.cfg.Container, Lags: m.lags,
	}
	if says.Standing, m.crowded = m.standing(); m.crowded {
		says.Ready = false
	}
	for _, c := range m.unready.list[:min(len(m.unready.list), record.MostLacks)] {
		says.Lacks = append(says.Lacks, record.Lack{Election: c.name(), Why: m.lacks[c]})
	}
	m.addUnlisted(&says)
	return says
}

// unlisted says whether we know nothing yet of a lock of the election, since lists fail. In a migration, c is the contest for the new lock.
func (c *contest) unlisted() (is bool) {
	c.each(func(c *contest) { is = is || !c.listed && c.m.streamOf(c.lock.store).unlisted })
	return is
}

// addUnlisted adds the elections of whose locks we know nothing yet, since lists fail, as far as there is room: others go first
// there.
func (m *Member) addUnlisted(says *record.Member) {
	if m.crowded || !slices.ContainsFunc(m.streams, func(s *stream) bool { return s.unlisted }) {
		return
	}
	bytes := 0
	for _, name := range says.Standing {
		bytes += len(name)
	}
	for _, c := range m.contests.all {
		if !c.unlisted() || m.unready.has(c) || m.lowered.has(c) {
			continue
		}
		if bytes += len(c.name()); bytes <= maxListed {
			says.Standing = append(says.Standing, c.name())
		}
		if len(says.Lacks) < record.MostLacks {
			says.Lacks = append(says.Lacks, record.Lack{Election: c.name(), Why: record.NoList})
		}
	}
	slices.Sort(says.Standing)
	says.Standing = slices.Compact(says.Standing)
}

// ticksMoving has elections that move to another lock judge anew whether they stand: each lock's contest looks at both.
func (m *Member) ticksMoving() {
	for _, c := range m.contests.all {
		if c.outer != nil {
			c.each(func(c *contest) { m.handle(c, machine.Tick{}) })
		}
	}
}

// maxListed bounds each list of elections in a session, in bytes. Each beat carries all of it, to every
// member.
const maxListed = 32 << 10

// standing is the session's list of elections in which our runners failed lately or are not ready, so that
// other members go first. crowded: the list would be too long.
func (m *Member) standing() (list []string, crowded bool) {
	bytes := 0
	for _, some := range [][]*contest{m.lowered.list, m.unready.list} {
		for _, c := range some {
			if bytes += len(c.name()); bytes > maxListed {
				return []string{record.EveryElection}, true
			}
			list = append(list, c.name())
		}
	}
	slices.Sort(list)
	return slices.Compact(list), false
}
