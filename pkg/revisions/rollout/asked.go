package rollout

import (
	"cmp"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Drain keeps all incarnations of a member out of all elections until it is undone.
type Drain struct {
	// Member is a host name.
	Member string `yaml:"member" strict:"required"`
	By     string `yaml:"by,omitempty"`
	At     Time   `yaml:"at,omitempty"`
}

// Standstill pauses a group: nothing moves to a better member.
type Standstill struct {
	By string `yaml:"by,omitempty"`
	At Time   `yaml:"at" strict:"required"`
	// Until is when it ends by itself; zero for never.
	Until Time `yaml:"until,omitempty"`
	// NoTakeover: nobody takes a lock that it does not hold, either. Such a pause must have an end.
	NoTakeover bool `yaml:"noTakeover,omitempty"`
}

// Handover makes an election prefer a member for a while.
type Handover struct {
	Election string `yaml:"election" strict:"required"`
	// To is a host name. While that member cannot lead, the handover has no effect.
	To string `yaml:"to" strict:"required"`
	By string `yaml:"by,omitempty"`
	At Time   `yaml:"at,omitempty"`
	// Until is when it ends by itself.
	Until Time `yaml:"until" strict:"required"`
}

// At returns the plan as it counts at a time: without what has ended by then.
func (p Plan) At(now time.Time) Plan {
	if s := p.Standstill; s != nil && !s.Until.IsZero() && !now.Before(s.Until.Time) {
		p.Standstill = nil
	}
	over := func(h Handover) bool { return !now.Before(h.Until.Time) }
	if slices.ContainsFunc(p.Handovers, over) {
		p.Handovers = slices.DeleteFunc(slices.Clone(p.Handovers), over)
	}
	return p
}

// lingers is how long a pause or a handover stays stored after its end, by the clock of whoever changes the plan. That clock may
// be fast: by the members' clocks the end may be still to come. A clock that shows local time as UTC is wrong by 14 hours at
// most.
const lingers = 24 * time.Hour

// Kept returns the plan to store when the clock says now: with what has ended within the last day, and without what ended
// earlier.
func (p Plan) Kept(now time.Time) Plan { return p.At(now.Add(-lingers)) }

// Passing returns all plans that may count for members when our clock says now and theirs may be behind: the plan as it is
// stored, then without the first part that has ended, without the first two, and so on.
func (p Plan) Passing(now time.Time) []Plan {
	all := []Plan{p}
	for ends := p.Ends(); !ends.IsZero() && !now.Before(ends); ends = p.Ends() {
		p = p.At(ends)
		all = append(all, p)
	}
	return all
}

// Ends returns when the first part of the plan ends by itself, of those that count now; zero for never.
func (p Plan) Ends() (first time.Time) {
	end := func(t Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t.Time
		}
	}
	if p.Standstill != nil {
		end(p.Standstill.Until)
	}
	for _, h := range p.Handovers {
		end(h.Until)
	}
	return first
}

// DrainedHosts returns the hosts of the drained members.
func (p Plan) DrainedHosts() record.Hosts {
	if len(p.Drained) == 0 {
		return ""
	}
	names := make([]string, len(p.Drained))
	for i, d := range p.Drained {
		names[i] = d.Member
	}
	return record.HostsOf(names...)
}

// DrainOf returns the drain of the member with an identity.
func (p Plan) DrainOf(identity string) (d Drain, ok bool) {
	return p.DrainOfHost(record.HostOf(identity))
}

// DrainOfHost returns the drain of the members of a host.
func (p Plan) DrainOfHost(host string) (d Drain, ok bool) {
	i := slices.IndexFunc(p.Drained, func(d Drain) bool { return d.Member == host })
	if host == "" || i < 0 {
		return Drain{}, false
	}
	return p.Drained[i], true
}

// Handover returns the handover of an election.
func (p Plan) Handover(election string) (h Handover, ok bool) {
	i := slices.IndexFunc(p.Handovers, func(h Handover) bool { return h.Election == election })
	if i < 0 {
		return Handover{}, false
	}
	return p.Handovers[i], true
}

// asked says whether operators said anything besides pins and a rollout.
func (p Plan) asked() bool {
	return len(p.Drained) > 0 || p.Standstill != nil || len(p.Handovers) > 0
}

// unreadableWord is the first of the keys pins, drained, paused and handovers that is unreadable; empty for none.
func (p Plan) unreadableWord() string {
	for _, key := range []string{KeyPins, KeyDrained, KeyPaused, KeyHandovers} {
		if p.unreadable(key) {
			return key
		}
	}
	return ""
}

// foldAsked adds drains, the standstill and handovers to a digest.
func (p Plan) foldAsked(h hash.Hash) {
	if hosts := p.DrainedHosts(); hosts != "" {
		fold(h, "drained", string(hosts))
	}
	if p.Standstill != nil {
		fold(h, "paused")
	}
	if p.Standstill != nil && p.Standstill.NoTakeover {
		fold(h, "no takeover")
	}
	for _, x := range slices.SortedFunc(slices.Values(p.Handovers), func(a, b Handover) int { return cmp.Compare(a.Election, b.Election) }) {
		fold(h, "handover", x.Election, x.To)
	}
}

// putAsked encodes drains, the standstill and handovers.
func (p Plan) putAsked(put func(key string, value any)) {
	if len(p.Drained) > 0 {
		drained := slices.Clone(p.Drained)
		for i := range drained {
			drained[i].By = clean(drained[i].By)
		}
		put(KeyDrained, drained)
	}
	if p.Standstill != nil {
		s := *p.Standstill
		s.By = clean(s.By)
		put(KeyPaused, &s)
	}
	if len(p.Handovers) > 0 {
		handovers := slices.Clone(p.Handovers)
		for i := range handovers {
			handovers[i].By = clean(handovers[i].By)
		}
		put(KeyHandovers, handovers)
	}
}

// Drain keeps a member out. A member that is drained already stays so by its first drain.
func (p Plan) Drain(d Drain) (Plan, error) {
	if err := p.mayChange(KeyDrained); err != nil {
		return p, err
	}
	if errs := checkDrained([]Drain{d}); errs != nil {
		return p, fmt.Errorf("drain %s: %w", d.Member, errs.OrNil())
	}
	if !p.DrainedHosts().Has(d.Member) {
		p.Drained = append(slices.Clone(p.Drained), d)
	}
	return p, nil
}

// Undrain lets a member take part again.
func (p Plan) Undrain(member string) (Plan, error) {
	if err := p.mayChange(KeyDrained); err != nil {
		return p, err
	}
	if !p.DrainedHosts().Has(member) {
		return p, &Refused{"undo the drain of " + member, "it is not drained", "primacy status notes who is"}
	}
	p.Drained = slices.DeleteFunc(slices.Clone(p.Drained), func(d Drain) bool { return d.Member == member })
	return p, nil
}

// Stand pauses the group, or changes until when it is paused.
func (p Plan) Stand(s Standstill) (Plan, error) {
	if err := p.mayChange(KeyPaused); err != nil {
		return p, err
	}
	if errs := checkStandstill(&s); errs != nil {
		return p, fmt.Errorf("pause: %w", errs.OrNil())
	}
	p.Standstill = &s
	return p, nil
}

// GoOn ends the pause of the group.
func (p Plan) GoOn() (Plan, error) {
	if err := p.mayChange(KeyPaused); err != nil {
		return p, err
	}
	if p.Standstill == nil {
		return p, &Refused{"resume", "the group is not paused", "primacy rollout resume goes on with a rollout"}
	}
	p.Standstill = nil
	return p, nil
}

// HandOver makes an election prefer a member until the end of the handover.
func (p Plan) HandOver(h Handover) (Plan, error) {
	if err := p.mayChange(KeyHandovers); err != nil {
		return p, err
	}
	if errs := checkHandovers([]Handover{h}); errs != nil {
		return p, fmt.Errorf("hand over %s: %w", h.Election, errs.OrNil())
	}
	p.Handovers = append(p.withoutHandover(h.Election), h)
	return p, nil
}

// HandedOver removes the handover, if it is still the stored one.
func (p Plan) HandedOver(h Handover) (Plan, error) {
	if err := p.mayChange(KeyHandovers); err != nil {
		return p, err
	}
	h.By = clean(h.By) // as it is stored
	if now, asked := p.Handover(h.Election); asked && now == h {
		p.Handovers = p.withoutHandover(h.Election)
	}
	return p, nil
}

func (p Plan) withoutHandover(election string) []Handover {
	return slices.DeleteFunc(slices.Clone(p.Handovers), func(h Handover) bool { return h.Election == election })
}

// mayChange refuses to change what nobody can read.
func (p Plan) mayChange(key string) error {
	if p.unreadable(key) {
		return &Refused{"change the plan", "what is stored under " + key + " cannot be read", "correct or remove that key of the ConfigMap"}
	}
	return nil
}

func checkDrained(drained []Drain) strict.Errors {
	var f findings
	seen := map[string]bool{}
	for i, d := range drained {
		at := "[" + strconv.Itoa(i) + "].member"
		f.host(at, d.Member)
		if seen[d.Member] {
			f.add(at, "keep one of the two", "%.70q is drained twice", d.Member)
		}
		seen[d.Member] = true
	}
	return f.errs
}

func checkStandstill(s *Standstill) strict.Errors {
	var f findings
	if s != nil && s.NoTakeover && s.Until.IsZero() {
		f.add("until", "say when it ends", "a pause without takeovers must have an end")
	}
	if s != nil && !s.Until.IsZero() && !s.At.Before(s.Until.Time) {
		f.add("until", "leave it out for a pause without an end", "it ends before it begins")
	}
	return f.errs
}

func checkHandovers(all []Handover) strict.Errors {
	var f findings
	seen := map[string]bool{}
	for i, h := range all {
		at := "[" + strconv.Itoa(i) + "]"
		f.election(at+".election", h.Election)
		f.host(at+".to", h.To)
		if seen[h.Election] {
			f.add(at+".election", "keep one of the two", "%.70q is handed over twice", h.Election)
		}
		seen[h.Election] = true
	}
	return f.errs
}

// host reports a text that is no host name of a member.
func (f *findings) host(field, name string) {
	if !record.OurForm(name+"_00000000") || len(name) > 253 {
		f.add(field, "a member's host name: its identity up to the last _", "%.70q is no host name of a member", name)
	}
}
