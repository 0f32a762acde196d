package app

import (
	"fmt"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
)

// anotherLock is what people do about a lock that two groups share.
const anotherLock = "give one of the elections another lock.name"

// judgeOtherGroup judges an election whose lock a member of another group holds.
func (x *explaining) judgeOtherGroup() judgement {
	e := x.election
	return judgement{verdictStuck, fmt.Sprintf("Nobody of group %s leads: the lock %s is held by %s, a member of group %s: two groups cannot share a lock (%s).",
		view.Printable(e.Group), view.Printable(e.Lock), x.holderName(), view.Printable(x.heldBy), anotherLock),
		[]whatIf{{What: "the election of one group has a lock with another name (lock: {name: ...}), in the configuration of all members of that group"}}}
}
