package explore

import (
	"reflect"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func (c *canon) record(r *record.Record) {
	if r == nil {
		c.add(-1, plain)
		return
	}
	c.walk(reflect.ValueOf(r).Elem(), nil)
}

// writerOf is whose beat the record has: each member counts its own.
func writerOf(r *record.Record) string {
	if last := len(r.History) - 1; r.Holder == "" && last >= 0 {
		return r.History[last].Who
	}
	return r.Holder
}

// leaver adds what machines read in the history: which member released the lock because it leaves.
func (c *canon) leaver(r *record.Record) {
	who, last := "", len(r.History)-1
	if last >= 0 && r.Holder == "" && strings.HasSuffix(r.History[last].Why, string(machine.ReasonShutdown)) {
		who = writerOf(r)
	}
	c.add(c.text(who), plain)
}

func (c *canon) version(v record.Version) {
	c.uid(v.UID)
	c.add(int64(v.Revision), order) // #nosec G115 -- small
}

func (c *canon) stored(s stored) {
	c.version(s.version)
	c.record(s.record)
}
