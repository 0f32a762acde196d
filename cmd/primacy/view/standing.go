package view

import (
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// Standing is what operators said that stands in the way of the usual moves: a pause, drains and handovers, one line each,
// with how to end them. The plan must be as it counts now.
func Standing(p rollout.Plan) (lines []string) {
	if p.Standstill != nil {
		stops := "nothing moves to a better member"
		if p.Standstill.NoTakeover {
			stops += ", and nobody takes a lock"
		}
		lines = append(lines, "PAUSED"+Paused(*p.Standstill)+": "+stops+" (primacy resume)")
	}
	for _, d := range p.Drained {
		lines = append(lines, Drained(d)+" (primacy drain "+Printable(d.Member)+" --undo)")
	}
	for _, h := range p.Handovers {
		lines = append(lines, fmt.Sprintf("%s is handed over to %s%s until %s", Printable(h.Election), Printable(h.To), by(h.By), moment(h.Until)))
	}
	return lines
}

// Drained says who drained a member, and since when.
func Drained(d rollout.Drain) string {
	return Printable(d.Member) + " is drained" + by(d.By) + since(d.At)
}

// Paused says who paused a group, since when, and until when.
func Paused(s rollout.Standstill) string {
	text := by(s.By) + since(s.At)
	if !s.Until.IsZero() {
		text += " until " + moment(s.Until)
	}
	return text
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + Printable(who)
}

func since(at rollout.Time) string {
	if at.IsZero() {
		return ""
	}
	return " since " + moment(at)
}

func moment(t rollout.Time) string { return t.UTC().Format(time.RFC3339) }
