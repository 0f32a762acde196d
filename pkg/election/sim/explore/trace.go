package explore

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// trace tells a path. A nil one is silent.
type trace struct {
	out    io.Writer
	number int
}

func (t *trace) move(w *world, mv move) {
	if t != nil {
		fmt.Fprintf(t.out, "%3d. [%d] %v\n", t.number, w.now, mv)
	}
}

func (t *trace) event(w *world, i int, e machine.Event) {
	if t == nil {
		return
	}
	text := ""
	switch e := e.(type) {
	case machine.Observed:
		text = fmt.Sprintf("%s %s", map[machine.Source]string{machine.Stream: "event", machine.List: "list", machine.ReadBack: "read"}[e.Source], shows(e.Record, e.Version))
	case machine.WriteDone:
		text = map[machine.Outcome]string{machine.Committed: "committed", machine.Rejected: "rejected", machine.Refused: "refused", machine.Unknown: "unknown"}[e.Outcome]
		if e.Outcome == machine.Committed {
			text += " " + at(e.Version)
		}
	case machine.PreferenceChanged:
		text = "preferred: " + e.Preferred.String()
	default:
		return
	}
	fmt.Fprintf(t.out, "          %s\n", text)
}

func (t *trace) action(a machine.Action) {
	if t == nil {
		return
	}
	text := ""
	switch a := a.(type) {
	case machine.Write:
		text = fmt.Sprintf("%v onto %s: %s", a.Purpose, at(a.If), says(&a.Record))
	case machine.Read:
		text = "read"
	case machine.Start:
		text = fmt.Sprintf("START token %d until %s", a.Token, when(a.Deadline))
	case machine.Extend:
		text = "extend until " + when(a.Deadline)
	case machine.Stop:
		text = fmt.Sprintf("STOP by %s: %s", when(a.By), a.Reason)
	default:
		return
	}
	fmt.Fprintf(t.out, "          -> %s\n", text)
}

func (t *trace) state(w *world, i int) {
	if t == nil {
		return
	}
	m := w.members[i]
	fmt.Fprintf(t.out, "          = %s %v, lock %v %s\n", name(i), m.state.Role, m.state.Lock.Owner, at(m.state.Lock.Version))
}

// note tells what has no place elsewhere.
func (t *trace) note(format string, args ...any) {
	if t != nil {
		fmt.Fprintf(t.out, "          "+format+"\n", args...)
	}
}

func when(i record.Instant) string {
	return fmt.Sprintf("%g", float64(i.Sub(startOfTime))/float64(tick/time.Nanosecond))
}

func at(v record.Version) string {
	if v.UID == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s@%d", v.UID, v.Revision)
}

func shows(r *record.Record, v record.Version) string {
	if r == nil {
		return "absent"
	}
	return at(v) + ": " + says(r)
}

func says(r *record.Record) string {
	text := fmt.Sprintf("holder %q, token %d", strings.TrimSuffix(r.Holder, "_00000000"), r.Token)
	if !r.Bound() {
		text += ", not bound"
	}
	if r.HandoverTo != "" {
		text += ", to " + strings.TrimSuffix(r.HandoverTo, "_00000000")
	}
	return text
}
