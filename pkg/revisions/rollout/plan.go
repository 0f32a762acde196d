package rollout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ObjectName is the name of the ConfigMap that keeps the plan of a group.
func ObjectName(group string) string { return "primacy-" + group + "-rollout" }

// Keys of the ConfigMap's data.
const (
	KeyPins    = "pins"
	KeyRollout = "rollout"
	KeyStatus  = "status"
	KeyHistory = "history"
)

// Plan is all that is stored for a group. The zero Plan says nothing: every election follows
// the default source.
type Plan struct {
	Pins []Pin
	// Rollout is the present or last rollout; nil for none.
	Rollout *Spec
	// Status is nil until a controller has written one. It may be of another rollout.
	Status *Status
	// History are rollouts that others took the place of, oldest first.
	History []Ended
	// Unreadable are the keys whose text cannot be read and of which nothing earlier is
	// known either.
	Unreadable []string

	// read says that Read made it, so that what it lacks is known not to be there.
	read bool
}

// Pin lets an election prefer a revision or a member, whatever else there is.
type Pin struct {
	Election string `yaml:"election" strict:"required"`
	// Revision is empty where Member is set.
	Revision string `yaml:"revision,omitempty"`
	// Member is a host name. Where that member cannot lead, all is as without the pin.
	Member string `yaml:"member,omitempty"`
	By     string `yaml:"by,omitempty"`
	At     Time   `yaml:"at,omitempty"`
}

// Ended is one line of the history.
type Ended struct {
	UID     string `yaml:"uid" strict:"required"`
	Stable  string `yaml:"stable" strict:"required"`
	Canary  string `yaml:"canary" strict:"required"`
	Started Time   `yaml:"started" strict:"required"`
	Ended   Time   `yaml:"ended" strict:"required"`
	By      string `yaml:"by,omitempty"`
	// How is the phase in which it was left.
	How Phase `yaml:"how" strict:"required"`
}

// HistoryLength is how many rollouts the history remembers.
const HistoryLength = 10

// Phase is where the rollout stands, as members see it; empty without one.
func (p Plan) Phase() Phase {
	switch {
	case p.Rollout == nil:
		return ""
	case p.Rollout.Abort:
		return Aborted
	case !p.Status.Of(p.Rollout):
		return Pending
	}
	return p.Status.Phase
}

// InForce says whether the rollout decides what elections prefer.
func (p Plan) InForce() bool { return p.Rollout != nil && p.Phase() != Complete }

// takenBack says whether a rollout that is in force leaves every election to stable.
func (p Plan) takenBack() bool { ph := p.Phase(); return ph == Pending || ph.Blocks() }

// Pin is the pin of an election.
func (p Plan) Pin(election string) (pin Pin, ok bool) {
	i := slices.IndexFunc(p.Pins, func(pin Pin) bool { return pin.Election == election })
	if i < 0 {
		return Pin{}, false
	}
	return p.Pins[i], true
}

// Preferred is what an election prefers while the default source says this: its pin, else
// what the rollout in force says, else the default. While the default source is not synced,
// or something of the plan is unreadable that may matter, nothing moves.
func (p Plan) Preferred(election string, byDefault record.Preferred) record.Preferred {
	if !synced(byDefault) || p.unreadable(KeyPins) {
		return record.Preferred{State: record.PreferredNotSynced}
	}
	pin, pinned := p.Pin(election)
	if pinned && pin.Revision != "" {
		return record.Prefer(pin.Revision)
	}
	preferred := p.follow(election, byDefault)
	if pinned && synced(preferred) {
		preferred.Member = pin.Member
	}
	return preferred
}

// follow is what an election prefers that is not pinned to a revision.
func (p Plan) follow(election string, byDefault record.Preferred) record.Preferred {
	switch {
	case p.Blind():
		return record.Preferred{State: record.PreferredNotSynced}
	case !p.InForce():
		return byDefault
	case !p.takenBack() && p.Status.Reach.Has(p.Rollout.UID, election):
		return record.Prefer(p.Rollout.Canary)
	}
	stable := record.Prefer(p.Rollout.Stable)
	if p.Phase().Blocks() {
		stable.Blocked = p.Rollout.Canary
	}
	return stable
}

func synced(p record.Preferred) bool {
	return p.State == record.PreferredUnset || p.State == record.PreferredSet
}

// Blind says whether nobody can tell what the rollout says; a status is not needed to see
// that it was aborted. Nothing moves then, and no controller may go on: one that knew the
// status still has it and is not blind.
func (p Plan) Blind() bool {
	return p.unreadable(KeyRollout) || p.unreadable(KeyStatus) && p.Rollout != nil && !p.Rollout.Abort
}

func (p Plan) unreadable(key string) bool { return slices.Contains(p.Unreadable, key) }

// Digest tells apart any two pairs of a plan and a default from which an election may prefer
// something else. Where there is neither a pin nor a rollout in force it is that of the
// default alone. Members publish it, and move only for one that publishes the same.
func (p Plan) Digest(byDefault record.Preferred) string {
	switch {
	case p.unreadable(KeyPins):
		return byDefault.String() + " +unreadable pins"
	case len(p.Pins) == 0 && !p.InForce() && !p.Blind():
		return byDefault.String()
	}
	h := sha256.New()
	fold(h, "default", byDefault.String())
	for _, pin := range slices.SortedFunc(slices.Values(p.Pins), func(a, b Pin) int { return cmp.Compare(a.Election, b.Election) }) {
		fold(h, "pin", pin.Election, pin.Revision, pin.Member)
	}
	switch {
	case p.Blind():
		fold(h, "unreadable rollout")
	case p.InForce():
		fold(h, "rollout", p.Rollout.UID, p.Rollout.Stable, p.Rollout.Canary)
		switch {
		case p.Phase().Blocks():
			fold(h, "blocked")
		case !p.takenBack():
			reach := p.Status.Reach
			fold(h, "reach", reach.UpTo.String())
			fold(h, append([]string{"names"}, slices.Sorted(slices.Values(reach.Names))...)...)
			fold(h, append([]string{"except"}, slices.Sorted(slices.Values(reach.Except))...)...)
		}
	}
	return byDefault.String() + " +" + hex.EncodeToString(h.Sum(nil)[:8])
}

// fold takes in words so that no two lists of them look the same.
func fold(h hash.Hash, words ...string) {
	_, _ = fmt.Fprintf(h, "%q\n", words) // a hash never fails to write
}
