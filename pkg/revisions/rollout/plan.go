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
	// Keys of what operators say of members, of the group and of single elections.
	KeyDrained   = "drained"
	KeyPaused    = "paused"
	KeyHandovers = "handovers"
)

// Keys are all keys of the ConfigMap's data that have a meaning.
var Keys = []string{KeyPins, KeyDrained, KeyPaused, KeyHandovers, KeyRollout, KeyStatus, KeyHistory}

// Plan is all that is stored for a group. The zero Plan says nothing: every election follows
// the default source.
type Plan struct {
	Pins []Pin
	// Rollout is the present or last rollout; nil for none.
	Rollout *Spec
	// Status is nil until a controller has written one. It may belong to another rollout.
	Status *Status
	// History lists the replaced rollouts, oldest first.
	History []Ended
	// Drained are the members that are kept out of all elections.
	Drained []Drain
	// Standstill is nil while the group is not paused.
	Standstill *Standstill
	// Handovers are the moves that operators asked for.
	Handovers []Handover
	// Unreadable lists the keys whose text cannot be read, if we know no earlier text either.
	Unreadable []string

	// read: Read made this plan, so a part that is missing here does not exist.
	read bool
}

// Pin makes an election prefer a revision or a member, whatever the rollout or the default says.
type Pin struct {
	Election string `yaml:"election" strict:"required"`
	// Revision is empty where Member is set.
	Revision string `yaml:"revision,omitempty"`
	// Member is a host name. While that member cannot lead, the pin has no effect.
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
	// How is the rollout's last phase.
	How Phase `yaml:"how" strict:"required"`
}

// HistoryLength is how many rollouts the history remembers.
const HistoryLength = 10

// Phase returns the rollout's phase, as members see it; empty if there is no rollout.
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

// Ended returns when the rollout was completed, rolled back or aborted; zero if it goes on, or if no controller has noted
// its end.
func (p Plan) Ended() Time {
	if phase := p.Phase(); phase.over() && p.Status.Of(p.Rollout) && p.Status.Phase == phase {
		return p.Status.StepStarted
	}
	return Time{}
}

// InForce says whether the rollout decides what elections prefer.
func (p Plan) InForce() bool { return p.Rollout != nil && p.Phase() != Complete }

// takenBack says whether a rollout in force gives every election to stable.
func (p Plan) takenBack() bool { ph := p.Phase(); return ph == Pending || ph.Blocks() }

// Pin returns the pin of an election.
func (p Plan) Pin(election string) (pin Pin, ok bool) {
	i := slices.IndexFunc(p.Pins, func(pin Pin) bool { return pin.Election == election })
	if i < 0 {
		return Pin{}, false
	}
	return p.Pins[i], true
}

// Preferred returns what an election prefers: its pin, else what the rollout in force says, else
// byDefault, the default source's value. Nothing moves while the default source is not synced, or
// while a part of the plan that may matter is unreadable.
//
// Drained members come last in any case, and while the group is paused nobody outranks anybody. If it is paused
// without takeovers, nobody takes a lock that it does not hold. What has an end counts until the end: see At.
func (p Plan) Preferred(election string, byDefault record.Preferred) record.Preferred {
	preferred := p.pinned(election, byDefault)
	preferred.Drained, preferred.Paused = p.DrainedHosts(), p.Standstill != nil
	preferred.NoTakeover = p.Standstill != nil && p.Standstill.NoTakeover
	if h, asked := p.Handover(election); asked && synced(preferred) {
		preferred.Member = h.To
	}
	return preferred
}

// pinned returns what an election prefers by its pin, else by the rollout or the default.
func (p Plan) pinned(election string, byDefault record.Preferred) record.Preferred {
	if !synced(byDefault) || p.unreadableWord() != "" {
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

// follow returns what an election without a pinned revision prefers.
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

// Blind says whether the rollout, or the status that it needs, is unreadable, so that nobody can tell
// what elections prefer. An aborted rollout needs no status. While the plan is blind nothing moves,
// and no controller may go on. A controller that has read the status before keeps it, and is not
// blind.
func (p Plan) Blind() bool {
	return p.unreadable(KeyRollout) || p.unreadable(KeyStatus) && p.Rollout != nil && !p.Rollout.Abort
}

func (p Plan) unreadable(key string) bool { return slices.Contains(p.Unreadable, key) }

// Digest differs for any two pairs of plan and default with which some election may prefer different
// things. Without a pin and without a rollout in force, the digest is the default's. Members publish
// the digest, and hand over because of a preference only to a member that publishes the same digest.
func (p Plan) Digest(byDefault record.Preferred) string {
	word, h := p.unreadableWord(), sha256.New()
	switch {
	case word != "" && !p.asked():
		return byDefault.String() + " +unreadable " + word
	case word != "":
		p.foldAsked(h) // it counts, and ends, whatever else is unreadable
		return byDefault.String() + " +unreadable " + word + " " + short(h)
	case len(p.Pins) == 0 && !p.InForce() && !p.Blind() && !p.asked():
		return byDefault.String()
	}
	fold(h, "default", byDefault.String())
	for _, pin := range slices.SortedFunc(slices.Values(p.Pins), func(a, b Pin) int { return cmp.Compare(a.Election, b.Election) }) {
		fold(h, "pin", pin.Election, pin.Revision, pin.Member)
	}
	p.foldAsked(h)
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
	return byDefault.String() + " +" + short(h)
}

func short(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:8]) }

// fold adds words to the hash so that no two lists of words look the same.
func fold(h hash.Hash, words ...string) {
	_, _ = fmt.Fprintf(h, "%q\n", words) // a hash never fails to write
}
