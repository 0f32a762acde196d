package app

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/scenario"
	"github.com/primacy-dev/primacy/pkg/revisions"
)

// happenings are events in the order of their flags.
type happenings struct {
	list []scenario.Event
	// timed says whether the last event has an --at.
	timed bool
}

// pause is the time between the end of one event and the next one without an --at.
const pause = 10 * time.Second

func (h *happenings) add(e scenario.Event) {
	e.At = pause
	if n := len(h.list); n > 0 {
		e.At += h.list[n-1].At + h.list[n-1].For
	}
	h.list, h.timed = append(h.list, e), false
}

// happening is a flag for an event, or for its time.
type happening struct {
	kind string
	set  func(string) error
}

var _ pflag.Value = (*happening)(nil)

// String implements pflag.Value: there is no default.
func (f *happening) String() string { return "" }

// Type implements pflag.Value.
func (f *happening) Type() string { return f.kind }

// Set implements pflag.Value.
func (f *happening) Set(s string) error { return f.set(s) }

func (h *happenings) flag(kind scenario.EventKind) pflag.Value {
	switch kind {
	case scenario.Kill:
		return &happening{"member", func(s string) error {
			h.add(scenario.Event{Kind: kind, Member: s})
			return nil
		}}
	case scenario.APIAway:
		return &happening{"duration", func(s string) error {
			d, err := time.ParseDuration(s)
			h.add(scenario.Event{Kind: kind, For: d})
			return err
		}}
	default:
		return &happening{"revision", func(s string) error {
			h.add(scenario.Event{Kind: kind, Revision: s})
			return revisions.Check(s)
		}}
	}
}

func (h *happenings) at() pflag.Value {
	return &happening{"duration", func(s string) error {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return err
		case len(h.list) == 0:
			return errors.New("--at has no event (put it after --kill, --api-away or --default)")
		case h.timed:
			return fmt.Errorf("%v already has an --at (put --at after the event that it belongs to)", h.list[len(h.list)-1])
		}
		h.list[len(h.list)-1].At, h.timed = d, true
		return nil
	}}
}

// crew makes members m1, m2, ... from the value of --members: a count for each revision, or one
// number. With one number, the revisions of the members take turns: the configuration's and all new defaults.
func crew(flag string, like config.Member, defaults []string) ([]scenario.Member, error) {
	var revisionOf []string
	if n, err := strconv.Atoi(flag); err == nil {
		all := []string{like.Revision}
		for _, d := range defaults {
			if d != like.Revision {
				all = append(all, d)
			}
		}
		for i := range max(0, min(n, scenario.MostMembers+1)) {
			revisionOf = append(revisionOf, all[i%len(all)])
		}
	} else {
		for _, part := range strings.Split(flag, ",") {
			revision, count, ok := strings.Cut(part, "=")
			n, err := strconv.Atoi(count)
			if !ok || err != nil || n < 1 {
				return nil, fmt.Errorf("--members: %q (want a number, or revisions such as 1-9-0=2,1-10-0=1)", part)
			}
			if err := revisions.Check(revision); err != nil {
				return nil, fmt.Errorf("--members: %w", err)
			}
			for range min(n, scenario.MostMembers+1) {
				revisionOf = append(revisionOf, revision)
			}
		}
	}
	if n := len(revisionOf); n < 1 || n > scenario.MostMembers {
		return nil, fmt.Errorf("--members: %s (from 1 to %d can be simulated)", flag, scenario.MostMembers)
	}
	members := make([]scenario.Member, len(revisionOf))
	for i, r := range revisionOf {
		members[i] = scenario.Member{Name: fmt.Sprintf("m%d", i+1), Revision: r, Location: like.Location, Weight: like.Weight}
	}
	return members, nil
}
