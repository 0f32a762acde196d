package machine

import (
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// How the lines of a record's history begin. A take names what the lock was before, a release
// why its holder gave it up. Members of other versions read them, so they never change.
const (
	tookOver = "took over: "
	released = "released: "
)

// TookUnowned says whether the last line of a history is that of a take of a lock without a known owner.
func TookUnowned(history []record.Entry) bool {
	return len(history) > 0 && history[len(history)-1].Why == tookOver+Unowned.String()
}

// releasedBefore says whether the last line of a history is that of a take of what the member had released for this
// reason.
func releasedBefore(history []record.Entry, member string, why Reason) bool {
	n := len(history)
	return n > 1 && history[n-2].Who == member && history[n-2].Why == released+string(why) && strings.HasPrefix(history[n-1].Why, tookOver)
}

// FailedIn says whether, according to a history, the member's last term ended because its work had failed.
func FailedIn(history []record.Entry, member string) bool {
	for _, h := range slices.Backward(history) {
		if h.Who == member {
			return h.Why == released+string(ReasonFailed)
		}
	}
	return false
}

// Loss is a term in a record's history that ended although its holder did not want that.
type Loss struct {
	Who string
	// When is when the holder gave the lock up, or another took it.
	When time.Time
	// Orphaned: the holder did not release the lock; its session ended. Then it is no loss if the holder
	// ended the session itself, which the session's own history shows.
	Orphaned bool
}

// Losses are the losses in a history, oldest first. What strangers and foreign electors do to a lock does
// not count. Nor does it count when a holder takes its own lock anew: it may have had no term before.
func Losses(history []record.Entry) (losses []Loss) {
	for i, h := range history {
		if why, gaveUp := strings.CutPrefix(h.Why, released); gaveUp {
			switch Reason(why) {
			case ReasonFailed, ReasonExpired, ReasonSession, ReasonBlind:
				losses = append(losses, Loss{Who: h.Who, When: h.When})
			}
			continue
		}
		owner, took := strings.CutPrefix(h.Why, tookOver)
		if !took || i == 0 || !strings.HasPrefix(history[i-1].Why, tookOver) {
			continue // the former holder wrote its own line, or nobody knows
		}
		switch owner {
		case Other.String():
			losses = append(losses, Loss{Who: history[i-1].Who, When: h.When})
		case Orphaned.String():
			losses = append(losses, Loss{Who: history[i-1].Who, When: h.When, Orphaned: true})
		}
	}
	return losses
}
