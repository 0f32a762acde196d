package view

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// News finds out what happened between one report and the next. The zero News has seen no
// report, and reports nothing for the first one.
type News struct {
	elections map[string]status.Election
	members   map[string]status.Member
}

// Since says what happened since the last report, in lines for people.
func (n *News) Since(r status.Report) (lines []string) {
	elections, begun := map[string]status.Election{}, n.elections != nil
	for _, e := range r.Elections {
		key := e.Group + "/" + e.Ref().String()
		elections[key] = e
		before, known := n.elections[key]
		if line := electionNews(before, e); line != "" && begun && (known || e.State != status.Absent) {
			lines = append(lines, e.Name+": "+line)
		}
	}
	n.elections = elections
	return append(lines, n.OfMembers(r)...)
}

// OfMembers is Since for members alone.
func (n *News) OfMembers(r status.Report) (lines []string) {
	members, begun := map[string]status.Member{}, n.members != nil
	for _, m := range r.Members {
		if m.Identity == "" || m.State == status.Ended {
			continue
		}
		members[m.Identity] = m
		before, known := n.members[m.Identity]
		if !known {
			before.State = status.Ended
		}
		if line := memberNews(before, m); line != "" && begun {
			lines = append(lines, "member "+NameOf(m.Identity)+" "+line)
		}
	}
	for _, identity := range slices.Sorted(maps.Keys(n.members)) {
		if _, still := members[identity]; !still {
			lines = append(lines, "member "+NameOf(identity)+" left")
		}
	}
	n.members = members
	return lines
}

func electionNews(before, e status.Election) string {
	holder := NameOf(e.Holder)
	switch {
	case e.State == status.Led && (before.Holder != e.Holder || before.Token != e.Token):
		if before.Holder != "" && before.Holder != e.Holder {
			holder = NameOf(before.Holder) + " -> " + holder
		}
		return fmt.Sprintf("%s leads, revision %s, token %d", holder, e.Revision, e.Token)
	case e.State == status.Led && e.Stale && !before.Stale:
		return holder + " did not renew it in time, as far as one look can tell"
	case e.ForcedTo != "" && e.ForcedTo != before.ForcedTo:
		return holder + " is asked to hand over to " + NameOf(e.ForcedTo)
	case e.State == before.State && e.Holder == before.Holder:
		return ""
	case e.State == status.Released && e.HandoverTo != "":
		return "released, left to " + NameOf(e.HandoverTo)
	case e.Reason != "":
		return string(e.State) + ": " + e.Reason
	}
	return string(e.State)
}

func memberNews(before, m status.Member) string {
	switch {
	case before.State == status.Ended:
		return fmt.Sprintf("joined: revision %s, %s", m.Revision, m.Location)
	case before.State != m.State:
		return "is " + string(m.State)
	case before.Ready && !m.Ready:
		return "is not ready"
	case !before.Ready && m.Ready:
		return "is ready"
	}
	return ""
}

// Log keeps the last events, each with its time. The zero Log is empty.
type Log struct{ lines []string }

// mostEvents is how many events are remembered.
const mostEvents = 100

// Add records events with the time at.
func (l *Log) Add(at time.Time, events ...string) {
	for _, e := range events {
		l.lines = append(l.lines, at.Format(time.TimeOnly)+" "+e)
	}
	l.lines = l.lines[max(0, len(l.lines)-mostEvents):]
}

// Lines are the events, the latest last. The caller must not write to them.
func (l *Log) Lines() []string { return l.lines[:len(l.lines):len(l.lines)] }
