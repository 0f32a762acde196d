package dev

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// allLed says whether each expected election is led.
func (b *board) allLed(now time.Time) bool {
	return b.whole() && view.CountLed(b.report(now)) == len(b.report(now).Elections)
}

// amiss lists what is wrong at this moment, but may become right by itself.
func (b *board) amiss(now time.Time, preferred record.Preferred, policies map[string]priority.Policy) []string {
	if !b.whole() {
		return []string{"the API server has shown nothing"}
	}
	var all []string
	r := b.report(now)
	for _, e := range r.Elections {
		switch {
		case e.State == status.Led && e.Stale:
			all = append(all, fmt.Sprintf("%s: %s holds the lock, but does not renew it", e.Name, view.NameOf(e.Holder)))
		case e.State != status.Led:
			all = append(all, fmt.Sprintf("%s: nobody leads, the lock is %s", e.Name, e.State))
		default:
			if better := outranking(r, e, preferred, policies[e.Name]); better != "" {
				all = append(all, fmt.Sprintf("%s: %s leads, though %s is better and ready", e.Name, view.NameOf(e.Holder), view.NameOf(better)))
			}
		}
	}
	return all
}

// outranking is a member that should lead the election; empty if there is none.
func outranking(r status.Report, e status.Election, preferred record.Preferred, p priority.Policy) string {
	if p == nil {
		return ""
	}
	holder := priority.Unweighed(record.NewKey(e.Revision, record.Location(e.Location)))
	if i := slices.IndexFunc(r.Members, func(m status.Member) bool { return m.Identity == e.Holder }); i >= 0 {
		holder = weighed(r.Members[i])
	}
	for _, m := range r.Members {
		// A member that fell lately, or failed at this election, must first prove itself.
		if m.State != status.Live || !m.Ready || m.Fallen > 0 || failedAt(m, e.Name) {
			continue
		}
		if priority.Outranks(p, weighed(m), holder, preferred) {
			return m.Identity
		}
	}
	return ""
}

func weighed(m status.Member) priority.Candidate {
	return priority.Weighed(record.Member{Revision: m.Revision, Location: record.Location(m.Location), Weight: m.Weight})
}

func failedAt(m status.Member, election string) bool {
	return slices.Contains(m.Standing, election)
}

// grace is how long elections may take to become right: the time of a dead holder's lease,
// and then the time of a drain.
func grace(t record.Timing) time.Duration {
	return t.ObserverWait(t.LeaseDuration) + t.PreemptDelay + t.MinHold + t.StopGrace + time.Second
}

// verdict is nil if all was well, else an error that says what was wrong.
func (r *run) verdict(amiss []string) error {
	wrong := append(amiss, r.board.wrong...)
	for _, m := range r.crew.members {
		if m.crashed > 0 {
			wrong = append(wrong, fmt.Sprintf("member %s ended by itself, %s", m.name, count(m.crashed, "time")))
		}
	}
	if len(wrong) == 0 {
		r.event("all was well: %s led, %s, none missed", count(len(r.doc.Elections), "election"), count(r.board.moves, "transition"))
		return nil
	}
	return fmt.Errorf("not all was well after %v:\n  %s", r.For, strings.Join(wrong, "\n  "))
}
