package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// pastEvent is something that members, or people, stored about an election or a member. The names of its fields in JSON
// and YAML are stable: fields are added, never renamed.
type pastEvent struct {
	// At is when, by the clock of who wrote it, in whole seconds.
	At    time.Time `json:"at"`
	Event event     `json:"event"`
	// Election and Group are empty for what concerns no single election or group.
	Election string `json:"election,omitempty"`
	Group    string `json:"group,omitempty"`
	// Who is the member that took, released, left or died, or the person who pinned or began a rollout.
	Who string `json:"who,omitempty"`
	Why string `json:"why,omitempty"`
	// Proof is how the death was known, and By who ended the session.
	Proof record.Proof `json:"proof,omitempty"`
	By    string       `json:"by,omitempty"`
	// LeaderlessSeconds is how long nobody had led, if the last holder gave the lock up, or its death was proved; zero if
	// that was less than two seconds.
	LeaderlessSeconds int `json:"leaderlessSeconds,omitempty"`
}

// event is what happened.
type event string

const (
	eventTook     event = "Took"
	eventReleased event = "Released"
	// eventOther: a line of a lock's history of which this version does not know the meaning.
	eventOther event = "Changed"
	eventLeft  event = "Left"
	// eventLapsed: others ended the session, since it was not renewed.
	eventLapsed       event = "Lapsed"
	eventDied         event = "Died"
	eventPinned       event = "Pinned"
	eventRolloutBegan event = "RolloutBegan"
	eventRolloutEnded event = "RolloutEnded"
)

// ofElection are the transitions that a lock stores, oldest first.
func ofElection(e status.Election, deaths []status.Death) (all []pastEvent) {
	var holder string
	var free time.Time // since when nobody led; zero while somebody did, and if it is not known
	for _, t := range e.History {
		h := pastEvent{At: t.At, Event: eventOther, Election: e.Name, Group: e.Group, Who: t.Who, Why: t.Why}
		word, why, _ := strings.Cut(t.Why, ": ")
		switch word {
		case "took over":
			h.Event, h.Why = eventTook, cmp.Or(t.Meaning(), why)
			if d := deathOf(holder, deaths); d != nil && free.IsZero() {
				free = d.At
			}
			if gap := t.At.Sub(free); !free.IsZero() && gap >= 2*time.Second {
				h.LeaderlessSeconds = int(gap / time.Second)
			}
			holder, free = t.Who, time.Time{}
		case "released":
			h.Event, h.Why = eventReleased, why
			free = t.At
		}
		all = append(all, h)
	}
	return all
}

func deathOf(identity string, deaths []status.Death) *status.Death {
	for i := range deaths {
		if deaths[i].Identity == identity && identity != "" {
			return &deaths[i]
		}
	}
	return nil
}

// ofMembers are the ends of sessions, and the deaths that were proved.
func ofMembers(r status.Report) (all []pastEvent) {
	for _, d := range r.Deaths {
		all = append(all, pastEvent{At: d.At.Truncate(time.Second), Event: eventDied, Group: d.Group, Who: d.Identity, Why: d.How, Proof: d.Proof, By: d.By})
	}
	for _, m := range r.Members {
		if m.State != status.Ended || m.End == nil || deathOf(m.Identity, r.Deaths) != nil {
			continue
		}
		h := pastEvent{At: m.End.At, Event: eventLapsed, Group: m.Group, Who: m.Identity, Why: "its session was not renewed in time", By: m.End.Who}
		if m.End.Who == m.Identity {
			h.Event, h.Why, h.By = eventLeft, "", ""
		}
		all = append(all, h)
	}
	return all
}

// inOrder sorts by time. What happened in the same second keeps its order, but causes come before their effects.
func inOrder(all []pastEvent) []pastEvent {
	slices.SortStableFunc(all, func(a, b pastEvent) int { return a.At.Compare(b.At) })
	for i := range all {
		for n := i; n > 0 && all[n].causes(all[n-1]); n-- {
			all[n-1], all[n] = all[n], all[n-1]
		}
	}
	return all
}

// causes says whether an event of the same second may be the cause of another that is listed before it: the end of a holder.
func (h pastEvent) causes(before pastEvent) bool {
	return (h.Event == eventDied || h.Event == eventLapsed) && before.Event == eventTook && before.Who != h.Who && h.At.Equal(before.At)
}

// pastColumns are those of tables of pastEvents.
var pastColumns = []string{"TIME", "EVENT", "ELECTION", "WHO", "WHY"}

// cells are the row of a pastEvent.
func (h pastEvent) cells() []string {
	why := h.Why
	if h.Proof != "" {
		why = fmt.Sprintf("%s (proof: %s, by %s)", why, h.Proof, h.By)
	} else if h.By != "" {
		why += "; " + h.By + " ended it"
	}
	if h.LeaderlessSeconds > 0 {
		why += fmt.Sprintf("; nobody led for about %v", time.Duration(h.LeaderlessSeconds)*time.Second)
	}
	row := []string{h.At.UTC().Format(time.RFC3339), string(h.Event), h.Election, h.Who, why}
	for i, cell := range row {
		if cell == "" && i < len(row)-1 {
			row[i] = "-"
		}
	}
	return row
}

// pastTable is a list of pastEvents in a table.
func pastTable(all []pastEvent) string {
	rows := [][]string{pastColumns}
	for _, h := range all {
		rows = append(rows, h.cells())
	}
	return new(status.Aligner).Lines(rows)
}
