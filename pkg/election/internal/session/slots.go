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

// freeSlot is the first slot of the host that a new session may use: absent (then the version is
// zero), ended, or expired. It skips a slot that is still at its unfit version, and one that is not ours.
func (d *Directory) freeSlot(host string, now record.Instant, unfit map[string]record.Version) Shown {
	for n := 0; ; n++ {
		name := SlotName(d.group, host, n)
		s := d.slot(name)
		if s == nil {
			return Shown{Name: name}
		}
		if is := d.stateOf(s, now); (is == ended || is == expired) && unfit[name] != s.version {
			return Shown{Name: name, Record: s.record, Version: s.version}
		}
	}
}
