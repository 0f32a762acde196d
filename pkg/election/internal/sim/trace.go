package sim

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// describe shows a record on one line, for people.
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

// traceInput logs what a member is told.
func (w *world) traceInput(i *incarnation, input member.Input) {
	var s string
	switch in := input.(type) {
	case member.Shown:
		s = fmt.Sprintf("watch %d: %v", in.Watch, in.Event.Kind)
		entries := in.Event.List
		if in.Event.Kind == lock.Changed {
			entries = []lock.Entry{in.Event.Entry}
		}
		for _, e := range entries {
			s += fmt.Sprintf("; %s %s", e.Name, describe(e.Record, e.Version))
		}
	case member.Answered:
		s = fmt.Sprintf("answer to %d: %s (%v)", in.Request, describe(in.Entry.Record, in.Entry.Version), in.Err)
	case member.Prefer:
		s = "prefers " + in.Preference.Digest()
	case member.Returned:
		s = fmt.Sprintf("work of token %d has returned, expired: %v", in.Token, in.Expired)
	case member.Elections:
		s = fmt.Sprintf("takes part in %d more", len(in.Added))
	default:
		s = fmt.Sprintf("%T %+v", in, in)
	}
	w.logf(i.p.h.name, "<- %s", s)
}

// traceEffect logs what a member wants done.
func (w *world) traceEffect(i *incarnation, effect member.Effect) {
	when := i.p.h.clock.seconds
	var s string
	switch do := effect.(type) {
	case member.Send:
		s = fmt.Sprintf("READ %d: %s", do.Request, do.Name)
		if do.Write != nil {
			s = fmt.Sprintf("WRITE %d (%v): %s if @%d %s: %s", do.Request, do.Purpose, do.Name, do.Replaces.Revision, do.Replaces.UID, describe(do.Write, record.Version{}))
		}
	case member.Start:
		s = fmt.Sprintf("START %d token %d until %.6f", do.ID, do.Token, when(do.Deadline))
	case member.Extend:
		s = fmt.Sprintf("EXTEND %d until %.6f", do.ID, when(do.Deadline))
	case member.Stop:
		s = fmt.Sprintf("STOP %d by %.6f: %s", do.ID, when(do.By), do.Reason)
	case member.Changed:
		s = fmt.Sprintf("%d: %v: %s", do.ID, do.Role, do.Reason)
	case member.Log:
		s = fmt.Sprintf("%s %v", do.Message, fieldsOf(do))
	case member.Leads, member.Renewals, member.Noticed, member.Within:
		return
	default:
		s = fmt.Sprintf("%T %+v", do, do)
	}
	w.logf(i.p.h.name, "-> %s", s)
}

// seconds is when the clock shows i, in seconds of simulated time.
func (c clock) seconds(i record.Instant) float64 { return float64(c.when(i)) / 1e9 }
