package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// The class Settings: operators change the settings of elections, and give them to one host after the other while members run.
// A running member exchanges the election, as docs/reload.md says: it gives the old contest up, and takes part anew once that one
// owes nothing any more. Some changes begin before the last one is out.

// setting is one kind of change.
type setting int

const (
	// renewalSet: sessions or records renew the terms.
	renewalSet setting = iota
	// delaysSet: the delays, the stopGrace, minHold.
	delaysSet
	// policySet: another policy.
	policySet
	// onDeathSet: what a proof means.
	onDeathSet
	// bootstrapSet: whether a new lock is waited for.
	bootstrapSet
	// leaseSet: the election gets a leaseDuration of its own, or loses it; or the next processes get another one.
	leaseSet
	// outageSet: whether terms outlast an outage.
	outageSet
	settings
)

// form is what an operator wrote of one election. Its zero value stands for what the hosts have from the beginning.
type form struct {
	renewal   record.Renewal
	delays    *record.Timing // of these the delays, the stopGrace and minHold
	policy    priority.Policy
	onDeath   machine.OnDeath
	bootstrap machine.Bootstrap
	lease     *record.Timing // of these the leaseDuration and what follows from it
	outage    *machine.Outage
}

// changes is the plan of a run of the class Settings; nil in the other classes.
type changes struct {
	w     *world
	rng   *rand.Rand
	kinds []setting
	every time.Duration
	// present is the present form of each election, and document the timing of the document, which a process has for its life.
	present  []*form
	document *record.Timing
	// silences: the store falls silent for all members alike, as in the class Outages.
	silences bool
	// deaths says which elections change what a proof means.
	deaths []bool
	// unlike is when a member last took the lock of each election whose terms did not outlast an outage there.
	unlike []int64
}

// pickChanges decides what operators change. It has a random source of its own.
func (w *world) pickChanges(rng *rand.Rand) *changes {
	if w.options.Class != Settings {
		return nil
	}
	n := len(w.elections)
	c := &changes{w: w, rng: rng, present: make([]*form, n), deaths: make([]bool, n), unlike: make([]int64, n)}
	c.silences = rng.IntN(3) == 0
	for s := range settings {
		switch {
		case s == outageSet:
			if c.silences {
				c.kinds = append(c.kinds, s)
			}
		case s == leaseSet:
			if w.timing.LeaseDuration != w.shorter.LeaseDuration && rng.IntN(4) == 0 {
				c.kinds, w.mixed = append(c.kinds, s), true
			}
		case s == bootstrapSet:
			if rng.IntN(4) == 0 {
				c.kinds = append(c.kinds, s)
			}
		case rng.IntN(2) == 0:
			c.kinds = append(c.kinds, s)
		}
	}
	if len(c.kinds) == 0 {
		c.kinds = []setting{renewalSet}
	}
	for e := range n {
		c.deaths[e] = c.alters(onDeathSet)
		c.present[e] = &form{}
		if c.alters(bootstrapSet) {
			w.bootstrap[e] = machine.BootstrapImmediate // then nobody deletes it
		}
	}
	c.every = time.Duration(float64(w.timing.LeaseDuration) * []float64{0.1, 0.3, 1}[rng.IntN(3)])
	return c
}

func (c *changes) alters(s setting) bool { return slices.Contains(c.kinds, s) }

// begin schedules the next change.
func (c *changes) begin() {
	if c == nil {
		return
	}
	c.w.after(c.w.timing.LeaseDuration/2, c.later)
}

func (c *changes) later() { c.w.after(1+upTo(c.rng, 2*c.every), c.change) }

// change gives one host the present forms of some elections, or writes another form once all hosts have the present one. Now and
// then it does so before.
func (c *changes) change() {
	w := c.w
	if w.calm {
		return
	}
	c.later()
	e := c.rng.IntN(len(w.elections))
	var behind []*host
	for _, h := range w.hosts {
		if h.given[e] != c.present[e] {
			behind = append(behind, h)
		}
	}
	if len(behind) == 0 || c.rng.IntN(8) == 0 {
		c.write(e)
		return
	}
	h := behind[c.rng.IntN(len(behind))]
	if c.rng.IntN(4) == 0 {
		h = w.hosts[c.rng.IntN(len(w.hosts))]
	}
	all := c.rng.IntN(2) == 0
	h.next = c.document
	var exchanged []int
	for o := range w.elections {
		if (o == e || all) && h.given[o] != c.present[o] {
			h.given[o] = c.present[o]
			exchanged = append(exchanged, o)
			w.logf(h.name, "%s: is given %+v", w.elections[o], *h.settings(o))
			w.cov.saw(SettingsGiven)
		}
	}
	if h.proc != nil {
		h.proc.inc.exchanged(exchanged...)
	}
}

// write alters the present form of an election.
func (c *changes) write(e int) {
	w := c.w
	f := *c.present[e]
	for range 1 + c.rng.IntN(2) {
		c.alter(&f)
	}
	c.present[e] = &f
	w.logf("world", "%s: its settings change", w.elections[e])
}

func (c *changes) alter(f *form) {
	rng, w := c.rng, c.w
	switch c.kinds[rng.IntN(len(c.kinds))] {
	case renewalSet:
		f.renewal = []record.Renewal{record.RenewalSession, record.RenewalRecord, record.RenewalUnlessForeign}[rng.IntN(3)]
	case delaysSet:
		d := w.timing
		if rng.IntN(2) == 0 {
			d = w.shorter
		}
		d.PreemptDelay *= time.Duration(rng.IntN(4))
		d.MinHold *= time.Duration(rng.IntN(3))
		d.NominateDelay = d.NominateDelay * time.Duration(1+rng.IntN(3)) / 2
		d.StandDown = d.StandDown * time.Duration(1+rng.IntN(3)) / 2
		d.StopGrace = d.StopGrace * time.Duration(1+rng.IntN(2)) / 2
		f.delays = &d
	case policySet:
		f.policy = []priority.Policy{priority.RevisionLocation{}, priority.RevisionLocation{}, priority.None{}}[rng.IntN(3)]
	case onDeathSet:
		f.onDeath = []machine.OnDeath{machine.OnDeathProof, machine.OnDeathLease}[rng.IntN(2)]
	case bootstrapSet:
		f.bootstrap = machine.BootstrapWait + machine.Bootstrap(rng.IntN(2))
	case leaseSet:
		t := []*record.Timing{nil, &w.timing, &w.shorter}[rng.IntN(3)]
		if rng.IntN(3) == 0 {
			c.document = t
		} else {
			f.lease = t
		}
	case outageSet:
		o := machine.Outage{}
		switch rng.IntN(3) {
		case 0:
			o = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
		case 1:
			o = machine.Outage{Mode: machine.OutageFailOpen, For: time.Duration(rng.Int64N(int64(4 * w.timing.LeaseDuration)))}
		}
		f.outage = &o
	}
}

// settings are those of the host's configuration for an election, as completed by the product (election.Spec).
func (h *host) settings(e int) *member.Settings {
	w := h.w
	s := &member.Settings{
		Timing: h.timing, Policy: h.policy, Bootstrap: w.bootstrap[e], Foreign: w.foreign[e], Renewal: h.renewal[e], Outage: w.outages[e], OnDeath: w.onDeath[e],
	}
	if w.changes == nil {
		return s
	}
	f, t := h.given[e], &s.Timing
	if w.changes.alters(bootstrapSet) {
		s.Bootstrap = machine.BootstrapWait
	}
	if f.lease != nil {
		*t = *f.lease
	}
	if d := f.delays; d != nil {
		t.PreemptDelay, t.MinHold, t.NominateDelay, t.StandDown = d.PreemptDelay, d.MinHold, d.NominateDelay, d.StandDown
		was := t.StopGrace
		if t.StopGrace = d.StopGrace; len(t.Check()) > 0 {
			t.StopGrace = was
		}
	}
	if f.policy != nil {
		s.Policy = f.policy
	}
	if f.onDeath != "" {
		s.OnDeath = f.onDeath
	}
	if f.bootstrap != 0 {
		s.Bootstrap = f.bootstrap
	}
	if f.outage != nil {
		s.Outage = *f.outage
	}
	if f.renewal != "" && w.relics[e] == noRelic {
		s.Renewal = f.renewal
	}
	if t.LeaseDuration != h.timing.LeaseDuration || t.RenewInterval != h.timing.RenewInterval || s.Outage.Mode == machine.OutageFailOpen {
		s.Renewal = record.RenewalRecord
	}
	return s
}

// fromNowOn gives a process that boots the timings of its document.
func (h *host) fromNowOn() {
	if h.next == nil {
		return
	}
	delays := h.timing
	h.timing = *h.next
	h.timing.PreemptDelay, h.timing.MinHold = delays.PreemptDelay, delays.MinHold
}

// quickest is the shortest renewInterval of the run's timings.
func (w *world) quickest(of record.Timing) record.Timing {
	if w.changes != nil {
		of.RenewInterval = min(of.RenewInterval, w.shorter.RenewInterval)
	}
	return of
}

// silent says whether the store falls silent in this run.
func (w *world) silent() bool {
	return w.options.Class == Outages || w.changes != nil && w.changes.silences
}

// takes notes that a member took the lock of an election whose terms do not outlast an outage there: docs/ranges.md promises nothing
// until every member has the setting. Even such a member leaves a lock alone whose holder lives, as far as it sees, and says that its
// term may fail open.
func (c *changes) takes(q *request) {
	if c != nil && q.m.settings.Outage.Mode != machine.OutageFailOpen && !q.heldOpen {
		c.unlike[q.m.election] = c.w.now
	}
}

// halfway says whether such a member took the lock since then.
func (c *changes) halfway(e int, since int64) bool {
	return c != nil && c.unlike[e] > 0 && c.unlike[e] >= since
}

// heldOpen says whether the member sees that the lock's holder lives, and says that its term may fail open.
func (m *contest) heldOpen() bool {
	s, view := m.state(), m.i.member.View()
	if m.i.p.h.w.changes == nil || s == nil || s.Lock.Owner != machine.Other || view == nil {
		return false
	}
	holder := s.Lock.Record.Holder
	return slices.ContainsFunc(view.Peers, func(p machine.Peer) bool {
		return p.Identity == holder && slices.Contains(p.Open, m.of())
	})
}
