package sweep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Session is a session that has ended.
type Session struct {
	// Name is that of its object, and Identity that of its last member.
	Name, Identity string
	Version        record.Version
	// Ended is when it ended, by the clock of whoever ended it. It is for people: no removal is safe because of it.
	Ended time.Time
	// Quiet is for how long it must have been seen in this Version before it is removed.
	Quiet time.Duration
	// Kept says why it is not removed now, however long ago it ended; empty if nothing speaks against it.
	Kept string
}

// Ended returns the group's sessions that have ended, the latest first, by its place in the store's history. leases is
// all that the store of the sessions shows at one moment; elsewhere are other locks.
func Ended(group string, leases, elsewhere []lock.Entry) (ended []Session) {
	told := tellers(slices.Concat(leases, elsewhere))
	kept := map[string]string{} // by host
	for _, e := range leases {
		r := e.Record
		if r == nil || !isSession(e) || r.Group != group || !strings.HasPrefix(e.Name, session.Prefix(group)) {
			continue
		}
		host := hostNamed(cmp.Or(r.Member.Identity, r.Holder))
		if !r.Released() {
			kept[host] = fmt.Sprintf("session %s of its host has not ended", e.Name)
			continue
		}
		if by := cmp.Or(told[e.Name], told[host]); by != "" && kept[host] == "" {
			kept[host] = fmt.Sprintf("lock %s tells of its host", by)
		}
		ended = append(ended, Session{Name: e.Name, Identity: r.Member.Identity, Version: e.Version, Ended: endOf(r), Quiet: quiet(r)})
	}
	for i := range ended {
		ended[i].Kept = kept[hostNamed(ended[i].Identity)]
	}
	slices.SortFunc(ended, func(a, b Session) int { return cmp.Compare(b.Version.Revision, a.Version.Revision) })
	return ended
}

// isSession says whether the object is a session, of whatever group. A stranger may publish a member on a lock.
func isSession(e lock.Entry) bool { return e.Record.IsSession() && e.Record.Election == "" }

// tellers are the names of locks by the sessions and hosts of which they tell. The history of a host's sessions tells of
// its earlier members, so all of them count.
func tellers(all []lock.Entry) map[string]string {
	told := map[string]string{}
	for _, e := range all {
		r := e.Record
		if r == nil || isSession(e) {
			continue
		}
		whose := []string{r.Holder, r.HandoverTo}
		if r.Mark != nil {
			whose = append(whose, r.Mark.Identity)
			told[r.Mark.Session] = e.Name
		}
		for _, h := range r.History {
			whose = append(whose, h.Who)
		}
		for _, w := range whose {
			told[hostNamed(w)] = e.Name
		}
	}
	delete(told, "")
	return told
}

// hostNamed is the host of an identity; the identity itself where a stranger has edited that.
func hostNamed(identity string) string { return cmp.Or(record.HostOf(identity), identity) }

func endOf(r *record.Record) time.Time {
	if n := len(r.History); n > 0 {
		return r.History[n-1].When
	}
	return r.Renewed
}

// quiet is for how long others may still wait by what the session says of its member's leases, which is two of the longest
// ones, and of its predecessors. Their clocks may be slow, and ours fast.
func quiet(r *record.Record) time.Duration {
	t := record.Timing{Drift: max(record.DefaultDrift, r.Member.Drift())}
	wait := t.ObserverWait(2 * max(r.Mark.Duration, r.Member.Longest(), time.Second))
	for _, p := range r.Member.Predecessors {
		wait = max(wait, time.Duration(p.For)*time.Second)
	}
	return t.ObserverWait(wait)
}

// List returns what the store shows now. The error is that of the first attempt.
func List(ctx context.Context, s lock.Store) (all []lock.Entry, err error) {
	looking, cancel := context.WithCancel(ctx)
	defer cancel()
	done := false
	failed := s.Watch(looking, func(e lock.Event) {
		switch {
		case done:
			return
		case e.Kind == lock.Listed:
			all = e.List
		case e.Kind == lock.Broken:
			err = e.Err
		default:
			return
		}
		done = true
		cancel()
	})
	switch {
	case done:
		return all, err
	case failed != nil:
		return nil, failed
	}
	return nil, context.Cause(ctx)
}
