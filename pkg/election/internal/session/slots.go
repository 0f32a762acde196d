package session

import (
	"strconv"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// hostSlots are the slots of one host or Pod.
func (d *Directory) hostSlots(host string) []*slot {
	var found []*slot
	prefix := d.prefix + host + "-"
	for _, s := range d.slots {
		if n, ok := strings.CutPrefix(s.name, prefix); ok {
			if _, err := strconv.Atoi(n); err == nil {
				found = append(found, s)
			}
		}
	}
	return found
}

// latest is the latest renewal time in any session's record.
func (d *Directory) latest() (at time.Time) {
	for _, s := range d.slots {
		if s.record.Renewed.After(at) {
			at = s.record.Renewed
		}
	}
	return at
}

// freeSlot is the first slot of the host that a new session of the member may use: absent (then the version is
// zero), ended, or expired. It skips a slot that is still at its unfit version, and one that tells others more than the
// new session would.
func (d *Directory) freeSlot(host string, now record.Instant, member record.Member, unfit map[string]record.Version) Shown {
	for n := 0; ; n++ {
		name := SlotName(d.group, host, n)
		s := d.slot(name)
		if s == nil {
			return Shown{Name: name}
		}
		if is := d.stateOf(s, now); (is == ended || is == expired) && unfit[name] != s.version && !d.tellsMore(s, now, member) {
			return Shown{Name: name, Record: s.record, Version: s.version}
		}
	}
}

// tellsMore says whether the slot's last owner may still be at work with a longer lease, or a larger drift, than the
// member will publish. The slot alone may tell others of that, so the member must not overwrite it
// (rule published-before-held).
func (d *Directory) tellsMore(s *slot, now record.Instant, member record.Member) bool {
	return d.mayWork(s, now) && (s.stated.longest() > max(member.Longest(), d.timing.LeaseDuration) || s.stated.setup.DriftPPM > member.DriftPPM)
}

// owed is the longest lease, in seconds, that a slot's former member published. A session that takes the slot goes on
// publishing it, even with shorter leases of its own, until nobody waits for that member any more
// (rule published-before-held).
type owed struct {
	lease int
	until record.Instant
}

// owedBy returns what a session owes if it takes the slot now.
func (d *Directory) owedBy(name string, now record.Instant) owed {
	s := d.slot(name)
	if s == nil || !d.mayWork(s, now) {
		return owed{}
	}
	from, longest := now, s.stated.longest()
	if s.ended {
		from = s.changedAt
	}
	return owed{int((longest + time.Second - 1) / time.Second), from.Add(d.timing.ObserverWait(2 * longest))}
}
