package sim

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// describe is a record on one line, for people.
func describe(r *record.Record, v record.Version) string {
	at := fmt.Sprintf("@%d %s", v.Revision, v.UID)
	if r == nil {
		return "absent " + at
	}
	s := fmt.Sprintf("holder %q transitions %d token %d", r.Holder, r.Transitions, r.Token)
	switch {
	case r.Unreadable != "":
		s += " unreadable"
	case r.Mark == nil:
		s += " no mark"
	case r.Bound():
		s += fmt.Sprintf(" beat %d", r.Mark.Beat)
	default:
		s += fmt.Sprintf(" mark of %q %d beat %d", r.Mark.Identity, r.Mark.Transitions, r.Mark.Beat)
	}
	if r.HandoverTo != "" {
		s += " handover to " + r.HandoverTo
	}
	return s + " " + at
}

func (w *world) traceEvent(m *part, event machine.Event) {
	var s string
	switch e := event.(type) {
	case machine.Tick:
		s = "tick"
	case machine.Observed:
		s = fmt.Sprintf("%s shows %s", []string{"", "stream", "list", "read"}[e.Source], describe(e.Record, e.Version))
	case machine.ReadFailed:
		s = "read failed"
	case machine.WriteDone:
		s = fmt.Sprintf("write %d %s, sent at %.6f", e.Beat, []string{"", "committed", "rejected", "refused", "of unknown outcome"}[e.Outcome], m.i.p.h.clock.seconds(e.Sent))
	case machine.DirectoryChanged:
		s = "peers"
		for _, p := range e.View.Peers {
			s += " " + p.Identity
			if p.Trust != machine.Proven {
				s += "(on probation)"
			}
			if !p.Ready {
				s += "(unready)"
			}
		}
	case machine.PreferenceChanged:
		s = fmt.Sprintf("prefers %v (%s)", e.Preferred, e.Digest)
	case machine.RunnersStopped:
		s = "runners stopped"
	case machine.RunnersFailed:
		s = "runners failed"
	case machine.BeatSeen:
		s = fmt.Sprintf("beat of the session seen, sent at %.6f", m.i.p.h.clock.seconds(e.Sent))
	case machine.Paused:
		s = "paused: " + string(e.Reason)
	case machine.Resumed:
		s = "resumed"
	case machine.Resign:
		s = "resign: " + string(e.Reason)
	}
	w.logf(m.i.p.h.name, "%s: %s", m.name, s)
}

func (w *world) traceAction(m *part, action machine.Action) {
	when := m.i.p.h.clock.seconds
	var s string
	switch a := action.(type) {
	case machine.Write:
		s = fmt.Sprintf("WRITE %d (%v) if @%d %s: %s", a.Beat, a.Purpose, a.If.Revision, a.If.UID, describe(&a.Record, record.Version{}))
	case machine.Read:
		s = "READ"
	case machine.Start:
		s = fmt.Sprintf("START token %d until %.6f", a.Token, when(a.Deadline))
	case machine.Extend:
		s = fmt.Sprintf("EXTEND until %.6f", when(a.Deadline))
	case machine.Stop:
		s = fmt.Sprintf("STOP by %.6f: %s", when(a.By), a.Reason)
	case machine.EndSession:
		s = "END SESSION: " + string(a.Reason)
	case machine.Disown:
		s = fmt.Sprintf("DISOWN %s up to %d", a.Lock, a.Beat)
	case machine.Report:
		s = fmt.Sprintf("%v: %v %s %s", a.Kind, a.Role, a.Reason, a.Detail)
	default:
		return // a WakeAt is seen when it comes
	}
	w.logf(m.i.p.h.name, "%s: -> %s", m.name, s)
}

// seconds is when the clock shows i, in seconds of simulated time.
func (c clock) seconds(i record.Instant) float64 { return float64(c.when(i)) / 1e9 }
