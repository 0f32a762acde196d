package explore

import (
	"fmt"
	"io"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// trace describes a path. A nil trace is silent.
type trace struct {
	out    io.Writer
	number int
}

func (t *trace) move(w *world, mv move) {
	if t != nil {
		fmt.Fprintf(t.out, "%3d. [%d] %v\n", t.number, w.now, mv)
	}
}

func (t *trace) input(in member.Input) {
	if t == nil {
		return
	}
	switch in := in.(type) {
	case member.Shown:
		switch e := in.Event; e.Kind {
		case lock.Changed:
			t.note("%v %s", e.Kind, shows(e.Entry))
		case lock.Listed:
			t.note("%v as of %d", e.Kind, e.Revision)
			for _, one := range e.List {
				t.note("  %s", shows(one))
			}
		default:
			t.note("%v", e.Kind)
		}
	case member.Answered:
		switch {
		case in.Err != nil:
			t.note("answer: %v", in.Err)
		case in.Entry.Record != nil:
			t.note("answer: %s", shows(in.Entry))
		default:
			t.note("answer: %s %s", in.Entry.Name, at(in.Entry.Version))
		}
	case member.Prefer:
		t.note("preferred: %v", in.Preference.For(election))
	}
}

func (t *trace) effect(effect member.Effect) {
	if t == nil {
		return
	}
	switch do := effect.(type) {
	case member.Send:
		switch {
		case do.Write == nil:
			t.note("-> read %s", do.Name)
		case do.Purpose != 0:
			t.note("-> %v onto %s: %s", do.Purpose, at(do.Replaces), says(do.Write))
		default:
			t.note("-> %s onto %s: %s", do.Name, at(do.Replaces), says(do.Write))
		}
	case member.Start:
		t.note("-> START token %d until %s", do.Token, when(do.Deadline))
	case member.Extend:
		t.note("-> extend until %s", when(do.Deadline))
	case member.Beat:
		t.note("-> beat until %s", when(do.Deadline))
	case member.Stop:
		t.note("-> STOP by %s: %s", when(do.By), do.Reason)
	case member.Watch:
		t.note("-> watch")
	case member.EndWatch:
		t.note("-> end the watch")
	case member.Relist:
		t.note("-> list beside the watch")
	case member.Log:
		if do.Level > zapcore.InfoLevel {
			t.note("says: %s", do.Message)
		}
	}
}

func (t *trace) state(w *world, i int) {
	if t == nil {
		return
	}
	if s := w.procs[i].state(); s != nil {
		t.note("= %s %v, lock %v %s", name(i), s.Role, s.Lock.Owner, at(s.Lock.Version))
	}
}

// note writes a line.
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

func shows(e lock.Entry) string {
	if e.Record == nil {
		return e.Name + " absent"
	}
	return fmt.Sprintf("%s %s: %s", e.Name, at(e.Version), says(e.Record))
}

func says(r *record.Record) string {
	text := fmt.Sprintf("holder %q", strings.TrimSuffix(r.Holder, "_00000000"))
	switch {
	case r.Member != nil && r.Mark != nil:
		return text + fmt.Sprintf(", beat %d, %s", r.Mark.Beat, r.Member.Preference)
	case r.Member != nil:
		return text
	}
	text += fmt.Sprintf(", token %d", r.Token)
	if !r.Bound() {
		text += ", not bound"
	}
	if r.HandoverTo != "" {
		text += ", to " + strings.TrimSuffix(r.HandoverTo, "_00000000")
	}
	return text
}
