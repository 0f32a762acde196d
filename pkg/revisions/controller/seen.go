package controller

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/members"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// moment is what the eyes see at an instant; it does not depend on the plan.
type moment struct {
	eyes *eyes
	own  string // the controller's own election
	at   record.Instant
	wall time.Time // what the wall clock showed at that instant
	members.Living
}

// moment returns what the eyes see at an instant, or false if the controller must not believe its
// eyes; the package comment says when.
func (e *eyes) moment(own, identity string, at record.Instant) (moment, bool) {
	if !e.whole() {
		return moment{}, false
	}
	me, ok := e.pulseOf(identity)
	if !ok || at.Sub(me.at) > me.duration/2 {
		return moment{}, false
	}
	wall, now := e.Clock.Wall(), e.Clock.Now()
	if e.set(wall, now) || e.latest == 0 || at.Sub(e.latest) > me.duration/2 {
		e.since = at // nobody can say what could have moved meanwhile
	}
	e.latest = at
	m := moment{eyes: e, own: own, at: at, wall: wall.Add(-now.Sub(at))}
	m.Living = e.members.Living(at)
	for _, p := range m.Members {
		pulse, _ := e.pulseOf(p.Identity)
		// A member that is silent for more than half its duration fails a check.
		if alarm := pulse.at.Add(pulse.duration/2 + 1); alarm > at && (m.Changes == 0 || alarm < m.Changes) {
			m.Changes = alarm
		}
	}
	return m, true
}

// setBy is by how much the wall clock must differ from the other clock between two looks to count as set. Corrections that
// keep a clock right are smaller.
const setBy = time.Second

// set says whether somebody has set the wall clock since the last look. The waits in the status began by another time then.
func (e *eyes) set(wall time.Time, now record.Instant) bool {
	before := e.epoch
	e.epoch = wall.Round(0).Add(-time.Duration(now)) // without Go's own monotonic time
	return !before.IsZero() && e.epoch.Sub(before).Abs() > setBy
}

// seen makes a rollout.Seen of the moment.
func (m moment) seen(plan rollout.Plan, s steering.Sight) rollout.Seen {
	seen := rollout.Seen{Own: m.own, Default: s.Default.For(m.own), Paused: plan.Standstill != nil, Since: m.wallAt(m.eyes.since)}
	digest := steering.Combine(plan, s.Default).Digest()
	for _, p := range m.Members {
		pulse, _ := m.eyes.pulseOf(p.Identity)
		seen.Members = append(seen.Members, rollout.Member{
			Identity: p.Identity, Revision: p.Revision, Ready: p.Ready,
			Duration: pulse.duration, Heard: pulse.heard(m.at),
		})
	}
	m.compare(digest)
	for _, p := range m.Members {
		pulse, _ := m.eyes.pulseOf(p.Identity)
		if v := m.eyes.views[p.Identity]; !v.same {
			seen.Divided = append(seen.Divided, p.Identity)
			if m.at.Sub(v.since) > pulse.duration {
				seen.Behind = append(seen.Behind, p.Identity)
			}
		}
	}
	for _, e := range m.eyes.elections {
		seen.Elections = append(seen.Elections, m.election(e, plan))
	}
	return seen
}

// compare notes which members publish the digest of the controller's preference, and since when.
func (m moment) compare(digest string) {
	before := m.eyes.views
	if m.eyes.digest != digest {
		before = nil
	}
	m.eyes.digest, m.eyes.views = digest, map[string]view{}
	for _, p := range m.Members {
		now := view{p.Preference == digest, m.at}
		if last, known := before[p.Identity]; known && last.same == now.same {
			now = last
		}
		m.eyes.views[p.Identity] = now
	}
}

func (m moment) election(e election.Spec, plan rollout.Plan) rollout.Election {
	out := rollout.Election{Name: e.Name}
	_, out.Pinned = plan.Pin(e.Name)
	if _, asked := plan.Handover(e.Name); asked {
		out.Pinned = true
	}
	if !priority.FollowsRevision(e.Policy) {
		out.Follows = rollout.Ignores
	}
	entry := m.eyes.streams[e.Locks].known[e.Lock]
	if m.Lead(entry) {
		out.Holder, out.Revision = entry.Record.Holder, entry.Record.Mark.Key.Revision()
	}
	canary := record.Prefer(plan.Rollout.Canary)
	canary.Drained = plan.DrainedHosts()
	out.Canary = m.canary(e.Name, e.Policy, out.Holder, canary)
	out.HeldUntil, out.Delay = m.heldUntil(e, entry, plan.Rollout.AcquireTimeout, out.Holder, out.Canary), m.delay(e, entry)
	if entry.Absent() {
		return out
	}
	out.Failed = members.Failed(m.Members, e.Name, entry.Record.History)
	out.Lost = m.eyes.members.Lost(entry.Record.History, plan.Rollout.Canary)
	out.StableLost = m.eyes.members.Lost(entry.Record.History, plan.Rollout.Stable)
	return out
}

// before says whether p would lead rather than other. Holders move no lock to a member on probation while another one of its revision
// is there (rule no-flapping); heldUntil waits for it if there is no other.
func (m moment) before(p, other *record.Member, policy priority.Policy, preferred record.Preferred) bool {
	proven := func(p *record.Member) bool { return m.eyes.members.ProvenAt(p.Identity) <= m.at }
	if p.Revision == other.Revision && proven(p) != proven(other) {
		return proven(p)
	}
	return priority.Order(policy, priority.Weighed(*p), priority.Weighed(*other), preferred) < 0
}

// canary returns the identity of the member of the preferred revision that would lead the election with that
// preference; empty if there is none. We cannot see whether that member
// takes part: the person who starts the rollout must know.
func (m moment) canary(name string, policy priority.Policy, leader string, preferred record.Preferred) string {
	holder := m.Member(leader)
	var best *record.Member
	for i := range m.Members {
		p := &m.Members[i]
		switch {
		case !p.Ready || !p.StandsFor(name):
		case holder != nil && !priority.Outranks(policy, priority.Weighed(*p), priority.Weighed(*holder), preferred):
		case best == nil || m.before(p, best, policy, preferred):
			best = p
		}
	}
	if best == nil || best.Revision != preferred.Revision {
		return ""
	}
	return best.Identity
}
