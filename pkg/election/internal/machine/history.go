package machine

import (
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

// Loss is a term in a record's history that ended although its holder did not want that.
type Loss struct {
	Who string
	// When is when the holder gave the lock up, or another took it.
	When time.Time
	// Orphaned: the holder released nothing, its session ended. Its own end of it is no loss;
	// the session tells whose it was.
	Orphaned bool
}

// Losses are those in a history, oldest first. What strangers and electors that are not ours do
// to a lock is none of its holder's, and a holder that takes its own lock anew may have had no
// term on it before: neither counts.
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
			continue // who had it before said so itself, or nobody knows
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
