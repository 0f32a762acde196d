package member

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A member compares the configuration that the others publish with its own. If timings differ, it uses the
// longer lease and the larger drift at once. It warns, once, if a difference lasts longer than an update of
// the members takes.

// setup sums up a member's elections: each digest is a sum over all of them, so it is cheap to update when
// an election is added or removed.
type setup struct {
	names, rules, timings uint64
	// leases counts the elections of each leaseDuration.
	leases map[time.Duration]int
	// places counts the locks in each namespace that is not the realm's own.
	places map[string]int
	// config and said are what the session publishes, cached because each step reads them; stale once an
	// election is added or removed.
	config string
	said   record.Setup
	stale  bool
}

func (s *setup) add(e *Election) {
	if s.leases == nil {
		s.leases, s.places = map[time.Duration]int{}, map[string]int{}
	}
	for _, place := range placesOf(e) {
		s.places[place]++
	}
	s.names += hash(e.Name)
	s.rules += hash(e.Name, rulesOf(e))
	s.timings += hash(e.Name, timingsOf(e))
	s.leases[e.Timing.LeaseDuration]++
	s.stale = true
}

// placesOf are the namespaces of an election's locks that are not the realm's own.
func placesOf(e *Election) (places []string) {
	stores := []Store{e.Locks}
	if e.MigrateFrom != nil {
		stores = append(stores, e.MigrateFrom.Locks)
	}
	for _, s := range stores {
		if s.Place != "" {
			places = append(places, s.Place)
		}
	}
	return places
}

// longestPlaces is the longest list of namespaces that a session publishes, in bytes.
const longestPlaces = 250

// listed joins the namespaces, as many as there is room for.
func listed(places map[string]int) string {
	text := ""
	for _, place := range slices.Sorted(maps.Keys(places)) {
		if len(text)+1+len(place) > longestPlaces {
			break
		}
		text += "," + place
	}
	return strings.TrimPrefix(text, ",")
}

func (s *setup) remove(e *Election) {
	for _, place := range placesOf(e) {
		if s.places[place]--; s.places[place] == 0 {
			delete(s.places, place)
		}
	}
	s.names -= hash(e.Name)
	s.rules -= hash(e.Name, rulesOf(e))
	s.timings -= hash(e.Name, timingsOf(e))
	if s.leases[e.Timing.LeaseDuration]--; s.leases[e.Timing.LeaseDuration] == 0 {
		delete(s.leases, e.Timing.LeaseDuration)
	}
	s.stale = true
}

// published is what the session publishes: a digest of the elections' names, and the rest.
func (s *setup) published(c *Config) (config string, rest record.Setup) {
	if s.config != "" && !s.stale {
		return s.config, s.said
	}
	longest := c.Timing.LeaseDuration
	for lease := range s.leases {
		longest = max(longest, lease)
	}
	s.config, s.stale = digest(s.names), false
	s.said = record.Setup{
		Version: c.Version, DriftPPM: int(math.Ceil(c.Timing.Drift * 1e6)), LongestLease: int(longest / time.Second),
		Rules: digest(s.rules), Timings: digest(s.timings), Protocol: record.Protocol, Places: listed(s.places),
	}
	return s.config, s.said
}

// timings is the digest of our timings that our session publishes.
func (m *Member) timings() string {
	_, setup := m.setup.published(&m.cfg)
	return setup.Timings
}

// announced ends the wait of unpublished contests if the store has shown a beat of ours, sent at the instant sent, that tells of
// them: of those that began before, and of those that began at that instant if the beat says what our session says now. It returns
// whether any contest waits no longer.
func (m *Member) announced(shown *record.Record, sent record.Instant) (some bool) {
	if len(m.unpublished.list) == 0 || !m.own.Whole(shown) {
		return false
	}
	config, present := m.setup.published(&m.cfg)
	whole := shown.Member.Config == config && shown.Member.Timings == present.Timings
	for _, c := range m.unpublished.all() {
		if c.began < sent || whole && c.began == sent {
			m.unpublished.remove(c)
			some = true
		}
	}
	return some
}

// rulesOf is all that members must agree on about an election, except for timings. Members may differ in
// the renewal, and in the store of a lock of the same name.
func rulesOf(e *Election) string {
	rules := fmt.Sprint(e.Lock, e.Policy, e.Bootstrap, e.Foreign.Sharing, e.Range, e.Outage.Mode, e.Outage.For)
	if e.OnDeath == machine.OnDeathLease { // earlier versions, which do not know it, have the default
		rules += " onDeath"
	}
	return rules
}

func timingsOf(e *Election) string {
	t := e.Timing
	t.Drift = 0 // the session publishes the drift separately
	return fmt.Sprint(t)
}

// hash must never change: members of different versions compare its results.
func hash(name string, of ...string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails to write
	for _, s := range of {
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(s))
	}
	x := h.Sum64()
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

func digest(sum uint64) string { return strconv.FormatUint(sum, 36) }

// unlike are the present differences to other members.
type unlike struct {
	known []noted
	// next is when to warn of the next difference that still lasts.
	next record.Instant
}

type noted struct {
	session.Difference
	since  record.Instant
	warned bool
}

// lasting is how long an update of the members may cause a difference; then we warn.
const lasting = 3 * time.Minute

// compare adopts the bounds of the timings that the others publish, and logs each difference that begins
// or ends.
func (m *Member) compare() {
	own := m.says()
	m.others = m.dir.Bounds(m.now, own)
	found := append(m.dir.Differences(m.now, own), m.groups()...)
	is := func(f session.Difference) func(noted) bool {
		return func(n noted) bool { return n.What == f.What && n.Theirs == f.Theirs && n.Ours == f.Ours }
	}
	for i := range found {
		if at := slices.IndexFunc(m.unlike.known, is(found[i])); at >= 0 {
			m.unlike.known[at].Members = found[i].Members
			continue
		}
		m.unlike.known = append(m.unlike.known, noted{Difference: found[i], since: m.now})
		m.log.Info("members differ", about(found[i])...)
	}
	m.unlike.known = slices.DeleteFunc(m.unlike.known, func(n noted) bool {
		gone := !slices.ContainsFunc(found, func(f session.Difference) bool { return is(f)(n) })
		if gone {
			m.log.Info("members agree again", about(n.Difference)...)
		}
		return gone
	})
}

// tendUnlike warns once of each difference that lasts too long.
func (m *Member) tendUnlike() {
	m.unlike.next = 0
	for i := range m.unlike.known {
		n := &m.unlike.known[i]
		at := n.since.Add(lasting)
		switch {
		case n.warned:
		case m.now >= at:
			n.warned = true
			m.log.Warn("members differ in settings that should be the same (give them the same configuration and version, or separate groups and locks); until then each waits for the longer lease and the larger drift", about(n.Difference)...)
		case m.unlike.next == 0 || at < m.unlike.next:
			m.unlike.next = at
		}
	}
}

func about(d session.Difference) []zap.Field {
	return []zap.Field{zap.String("what", d.What), zap.String("ours", d.Ours), zap.String("theirs", d.Theirs),
		zap.Int("members", len(d.Members)), zap.Strings("some", d.Members[:min(3, len(d.Members))])}
}

// groups returns a difference for each other group whose members hold locks of our elections.
func (m *Member) groups() []session.Difference {
	alive := m.dir.OtherGroups(m.now)
	if len(alive) == 0 {
		return nil
	}
	var found []session.Difference
	m.contests.each(func(c *contest) {
		rec := c.state.Lock.Record
		if rec == nil || rec.Holder == "" || !alive[rec.Group] {
			return
		}
		at := slices.IndexFunc(found, func(f session.Difference) bool { return f.Theirs == rec.Group })
		if at < 0 {
			at = len(found)
			found = append(found, session.Difference{What: "group that holds a lock", Ours: m.cfg.Group, Theirs: rec.Group})
		}
		if host := record.HostOf(rec.Holder); !slices.Contains(found[at].Members, host) {
			found[at].Members = append(found[at].Members, host)
		}
	})
	return found
}

// Published is what the session of a member with this configuration and these elections publishes: a digest of
// the elections' names, and the rest.
func Published(c *Config, elections []*Election) (config string, rest record.Setup) {
	var s setup
	for _, e := range elections {
		s.add(e)
	}
	return s.published(c)
}
