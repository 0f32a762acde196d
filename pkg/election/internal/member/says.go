package member

import (
	"slices"

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
	return says
}

// unlisted are the contests of whose locks we know nothing yet, since lists fail.
func (m *Member) unlisted() (list []*contest) {
	if s := m.streamOf(Own); s.unlisted {
		m.contests.each(func(c *contest) {
			if !c.listed && c.lock.store == s.store {
				list = append(list, c)
			}
		})
	}
	return list
}

// maxListed bounds each list of elections in a session, in bytes. Each beat carries all of it, to every
// member.
const maxListed = 32 << 10

// standing is the session's list of elections in which our runners failed lately or are not ready, or whose locks we do not know
// yet, so that other members go first. crowded: the list would be too long.
func (m *Member) standing() (list []string, crowded bool) {
	bytes := 0
	for _, some := range [][]*contest{m.lowered.list, m.unready.list, m.unlisted()} {
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
