package session

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Members of a group publish their configuration, so that others can see where the same rules do not apply
// to all, and wait accordingly.

// Difference is a setting in which other members differ from us.
type Difference struct {
	// What differs, our value and theirs: all in words, for people.
	What, Ours, Theirs string
	// Members are the hosts of the members with Theirs.
	Members []string
}

// Bounds returns the timings by which we must wait for others: the longest leaseDuration of those whose
// terms may last longer than ours, and the largest drift. It counts the present members of all slots, and earlier ones that
// may still be at work. From here on the directory uses these timings for its own waits.
func (d *Directory) Bounds(now record.Instant, own record.Member) record.Bounds {
	var b record.Bounds
	count := func(by terms) {
		b.Drift = max(b.Drift, record.Setup{DriftPPM: by.ppm}.Drift())
		if by.config != own.Config || by.timings != own.Timings || by.session > d.timing.LeaseDuration {
			b.LeaseDuration = max(b.LeaseDuration, by.longest)
		}
	}
	for _, s := range d.slots {
		by := &s.stated
		if !d.isOthers(s.name, by.group) && d.mayWork(s, now) && by.identity != own.Identity {
			count(by.terms())
		}
	}
	for _, p := range d.predecessors {
		if now < p.until {
			count(p.terms)
		}
	}
	d.others = b
	return b
}

// Differences returns how the living members of our group differ from us, in a fixed order. It ignores
// settings that a member of an earlier version does not publish. A member of another revision may have
// another version and other elections.
func (d *Directory) Differences(now record.Instant, own record.Member) []Difference {
	var found []Difference
	note := func(m *record.Member, what, ours, theirs string) {
		if ours == theirs || ours == "" || theirs == "" {
			return
		}
		i := slices.IndexFunc(found, func(f Difference) bool { return f.What == what && f.Theirs == theirs })
		if i < 0 {
			i = len(found)
			found = append(found, Difference{What: what, Ours: ours, Theirs: theirs})
		}
		found[i].Members = append(found[i].Members, cmp.Or(record.HostOf(m.Identity), m.Identity))
	}
	for _, s := range d.slots {
		m := s.record.Member
		if m == nil || m.Identity == own.Identity || holderOf(s.record) == "" || d.stateOf(s, now) != live {
			continue
		}
		if s.stated.duration != d.timing.LeaseDuration { // check first: String is too slow for every beat
			note(m, "leaseDuration of the session", d.timing.LeaseDuration.String(), s.stated.duration.String())
		}
		if m.DriftPPM != own.DriftPPM {
			note(m, "drift", percent(own.DriftPPM), percent(m.DriftPPM))
		}
		if m.Revision == own.Revision {
			note(m, "version", own.Version, m.Version)
			note(m, "set of elections", own.Config, m.Config)
		}
		if m.Config == own.Config {
			note(m, "rules of an election (policy, lock, sharing, bootstrap, outage or range)", own.Rules, m.Rules)
			if s.stated.duration == d.timing.LeaseDuration { // else already noted above
				note(m, "timing of an election", own.Timings, m.Timings)
			}
		}
	}
	slices.SortFunc(found, func(a, b Difference) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Theirs, b.Theirs)) })
	return found
}

// OtherGroups are the groups, other than ours, that have living members in the realm.
func (d *Directory) OtherGroups(now record.Instant) map[string]bool {
	var found map[string]bool
	for _, s := range d.slots {
		if g := s.record.Group; d.isAlien(s) && g != "" && !s.record.Released() && now < d.endOf(s) {
			if found == nil {
				found = map[string]bool{}
			}
			found[g] = true
		}
	}
	return found
}

func percent(ppm int) string {
	if ppm == 0 {
		return ""
	}
	return fmt.Sprintf("%s %%", strconv.FormatFloat(float64(ppm)/1e4, 'f', -1, 64))
}
