package election

import (
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A lock that this member holds and cannot write is disowned: our session says that what we wrote
// there is nobody's, and whoever can write the lock takes it. Nothing else of ours is touched.

// disowned is a lock that this incarnation disowned.
type disowned struct {
	record.Disowned
	// over: the lock has been seen to show something else since, so no write that was disowned
	// can be stored any more, and our session lists it no longer.
	over bool
}

// disown takes in that what we wrote to a lock is nobody's from here on.
func (r *realm) disown(lock lockName, d record.Disowned) {
	r.disowned[lock] = disowned{Disowned: d}
	r.untold = append(r.untold, lock.name)
}

// disownedNow is what our session lists, in a fixed order.
func (r *realm) disownedNow() []record.Disowned {
	var list []record.Disowned
	for _, d := range r.disowned {
		if !d.over {
			list = append(list, d.Disowned)
		}
	}
	slices.SortFunc(list, func(a, b record.Disowned) int { return strings.Compare(a.Lock, b.Lock) })
	return list
}

// mostTold is how many locks one line of the log names.
const mostTold = 10

// tendDisowned tells what was disowned just now. It ends the session where it cannot say what was disowned: a member of an earlier
// version would not heed it, or it is too much to be listed.
func (r *realm) tendDisowned() {
	if n := len(r.untold); n > 0 {
		r.log.Warn("locks that this member holds can be neither released nor used; they are left to whoever can write them (is there a policy on these objects?)",
			zap.Int("number", n), zap.Strings("locks", r.untold[:min(n, mostTold)]))
		r.untold = nil
	}
	if r.leaving != "" || r.ending != "" || len(r.disowned) == 0 {
		return
	}
	listed, bytes := 0, 0
	for _, d := range r.disowned {
		if !d.over {
			listed, bytes = listed+1, bytes+len(d.Lock)+disownedBytes
		}
	}
	if listed > 0 && r.view.Older || bytes > maxListed {
		r.log.Warn("a lock that this member holds cannot be released; its session ends instead", zap.Bool("membersOfAnEarlierVersion", r.view.Older))
		r.ending = machine.ReasonHeldOn
	}
}

// disownedBytes is what a lock that was disowned takes in our session, beside its uid.
const disownedBytes = 48

// showsDisowned takes in what is stored of a lock now.
func (r *realm) showsDisowned(lock lockName, e lock.Entry) {
	d, found := r.disowned[lock]
	if found && !d.over && !r.isDisowned(lock, e) {
		d.over = true
		r.disowned[lock] = d
	}
}

// isDisowned says whether a lock shows a write of ours that we disowned.
func (r *realm) isDisowned(lock lockName, e lock.Entry) bool {
	d, rec := r.disowned[lock], e.Record
	return rec != nil && rec.Holder == r.identity && rec.Bound() && rec.ThroughSession() &&
		record.Disowns([]record.Disowned{d.Disowned}, e.Version.UID, rec.Mark.Beat)
}
