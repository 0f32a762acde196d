package app

import (
	"fmt"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// arrival is what a handover waits for, by force or not: a member of the host leads the election.
type arrival struct {
	host string
	// locks is how many locks the holder had before. In a migration it has two, and a member does not work with one of them.
	locks int
}

// reached says whether it has come about. short says what is missing if the member has too few locks; it is empty
// otherwise.
func (a arrival) reached(e status.Election) (done bool, short string) {
	if !view.Led(e) || record.HostOf(e.Holder) != a.host {
		return false, ""
	}
	if has := locksHeld(e); len(has) < a.locks {
		return false, fmt.Sprintf("%s has only one of the two locks that %s had, so it does not work, unless it knows no other lock (primacy explain %s says more)", view.NameOf(e.Holder), e.Name, e.Name)
	}
	return true, ""
}

// locksHeld are the locks of the election that its holder has: two in a migration.
func locksHeld(e status.Election) []status.Ref {
	if e.Holder == "" {
		return nil
	}
	held := []status.Ref{e.Ref()}
	for _, o := range e.Others {
		if o.Holder == e.Holder {
			held = append(held, o.Ref)
		}
	}
	return held
}
