package controller

import (
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// moment is what there is to see at an instant, whatever the plan is.
type moment struct {
	eyes *eyes
	own  string // the controller's own election
	at   record.Instant
	view *machine.View
	// changes is when it is another by itself; zero for never.
	changes record.Instant
	silent  map[string]time.Duration
}

// moment is false where what is seen cannot be believed: see the package.
func (e *eyes) moment(own, identity string, at record.Instant) (moment, bool) {
	if !e.whole() {
		return moment{}, false
	}
	me, ok := e.pulseOf(identity)
	if !ok || at.Sub(me.at) > me.duration/2 {
		return moment{}, false
	}
	m := moment{eyes: e, own: own, at: at, silent: map[string]time.Duration{}}
	m.view, m.changes = e.directory.View(at, "")
	for _, p := range m.view.Peers {
		pulse, _ := e.pulseOf(p.Identity)
		m.silent[p.Identity] = at.Sub(pulse.at)
		// One that is silent for more than half of what it lasts fails a check.
		if alarm := pulse.at.Add(pulse.duration/2 + 1); alarm > at && (m.changes == 0 || alarm < m.changes) {
			m.changes = alarm
		}
	}
	return m, true
}

// seen is the moment as a rollout looks at it.
func (m moment) seen(plan rollout.Plan, s steering.Sight) rollout.Seen {
	seen := rollout.Seen{Own: m.own, Default: s.Default.For(m.own)}
	digest := steering.Combine(plan, s.Default).Digest()
	for _, p := range m.view.Peers {
		pulse, _ := m.eyes.pulseOf(p.Identity)
		seen.Members = append(seen.Members, rollout.Member{
			Identity: p.Identity, Revision: p.Revision, Ready: p.Ready, Standing: p.Standing,
			Silent: m.silent[p.Identity], Duration: pulse.duration,
		})
		if p.Preference != digest {
			seen.Divided = append(seen.Divided, p.Identity)
		}
	}
	for _, e := range m.eyes.elections {
		seen.Elections = append(seen.Elections, m.election(e, plan))
	}
	return seen
}

func (m moment) election(e Election, plan rollout.Plan) rollout.Election {
	out := rollout.Election{Name: e.Name, Canary: m.canary(e.Name, plan.Rollout.Canary)}
	_, out.Pinned = plan.Pin(e.Name)
	entry := m.eyes.streams[e.Locks].known[e.Lock]
	if entry.Absent() {
		return out
	}
	if m.leads(entry) {
		out.Holder, out.Revision = entry.Record.Holder, entry.Record.Mark.Key.Revision()
	}
	for _, h := range entry.Record.History {
		if strings.HasPrefix(h.Why, "took over") {
			out.Taken = append(out.Taken, h.When)
		}
	}
	return out
}

// leads says whether the holder of a lock is a living member of ours, and at work.
func (m moment) leads(entry lock.Entry) bool {
	r := entry.Record
	if r.Holder == "" || !r.Bound() || r.Claim != nil {
		return false
	}
	if r.ThroughSession() {
		s := m.view.Sessions[r.Mark.Session]
		if s.UID != r.Mark.SessionUID || s.Holder != r.Holder || s.Ended {
			return false
		}
	}
	return slices.ContainsFunc(m.view.Peers, func(p machine.Peer) bool { return p.Identity == r.Holder })
}

// canary is a member of that revision to which the election would be moved; empty for none.
// Whether it takes part cannot be seen; that it does is for whoever starts the rollout to know.
func (m moment) canary(election, revision string) string {
	for _, p := range m.view.Peers {
		// Whether it fell too lately to be moved to is for the members to say: they have seen it
		// live for longer than these eyes.
		if p.Revision == revision && p.Ready && p.StandsFor(election) {
			return p.Identity
		}
	}
	return ""
}
