package controller

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
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
	m := moment{eyes: e, own: own, at: at}
	m.view, m.changes = e.directory.View(at, "")
	for _, p := range m.view.Peers {
		pulse, _ := e.pulseOf(p.Identity)
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
			Duration: pulse.duration, Heard: pulse.heard(m.at),
		})
		if p.Preference != digest {
			seen.Divided = append(seen.Divided, p.Identity)
		}
	}
	m.agree(digest, seen.Divided)
	for _, e := range m.eyes.elections {
		seen.Elections = append(seen.Elections, m.election(e, plan))
	}
	return seen
}

// agree takes in what is preferred, and which members see something else.
func (m moment) agree(digest string, divided []string) {
	if e, some := m.eyes, len(divided) > 0; some || e.divided || e.digest != digest {
		e.digest, e.divided, e.agreedAt = digest, some, m.at
	}
}

func (m moment) election(e election.Spec, plan rollout.Plan) rollout.Election {
	out := rollout.Election{Name: e.Name}
	_, out.Pinned = plan.Pin(e.Name)
	if !priority.FollowsRevision(e.Policy) {
		out.Follows = rollout.Ignores
	}
	entry := m.eyes.streams[e.Locks].known[e.Lock]
	if m.leads(entry) {
		out.Holder, out.Revision = entry.Record.Holder, entry.Record.Mark.Key.Revision()
	}
	out.Canary = m.canary(e.Name, e.Policy, out.Holder, plan.Rollout.Canary)
	out.HeldUntil, out.Delay = m.heldUntil(e, entry), m.delay(e, entry)
	if entry.Absent() {
		return out
	}
	out.Lost = m.lost(entry.Record.History, plan.Rollout.Canary)
	return out
}

// lost are the times at which members of the revision lost a lock although they did not want that.
func (m moment) lost(history []record.Entry, revision string) (lost []time.Time) {
	for _, l := range machine.Losses(history) {
		sessions := m.eyes.directory
		if sessions.MemberRevision(l.Who) == revision && !(l.Orphaned && sessions.Left(l.Who)) {
			lost = append(lost, l.When)
		}
	}
	return lost
}

// leads says whether the holder of a lock is a living member of ours, and at work.
func (m moment) leads(entry lock.Entry) bool {
	r := entry.Record
	if r == nil || r.Holder == "" || !r.Bound() || r.Claim != nil {
		return false
	}
	if r.ThroughSession() {
		s := m.view.Sessions[r.Mark.Session]
		if s.UID != r.Mark.SessionUID || s.Holder != r.Holder || s.Ended || record.Disowns(s.Disowned, entry.Version.UID, r.Mark.Beat) {
			return false
		}
	}
	return m.peer(r.Holder) != nil
}

// peer is a living member; nil if none has that identity.
func (m moment) peer(identity string) *machine.Peer {
	i := slices.IndexFunc(m.view.Peers, func(p machine.Peer) bool { return p.Identity == identity })
	if i < 0 {
		return nil
	}
	return &m.view.Peers[i]
}

// canary is the member of that revision to which the election would be moved if it preferred
// that; empty for none. Whether it takes part cannot be seen; that it does is for whoever
// starts the rollout to know.
func (m moment) canary(name string, policy priority.Policy, leader, revision string) string {
	preferred, holder := record.Prefer(revision), m.peer(leader)
	var best *machine.Peer
	for i := range m.view.Peers {
		p := &m.view.Peers[i]
		// Whether it fell too lately to be moved to is for the members to say: they have seen it
		// live for longer than these eyes.
		switch {
		case !p.Ready || !p.StandsFor(name):
		case holder != nil && !priority.Outranks(policy, priority.Weighed(p.Member), priority.Weighed(holder.Member), preferred):
		case best == nil || priority.Order(policy, priority.Weighed(p.Member), priority.Weighed(best.Member), preferred) < 0:
			best = p
		}
	}
	if best == nil || best.Revision != revision {
		return ""
	}
	return best.Identity
}
