package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// FreshFor is how long a term counts as new.
const FreshFor = 3 * time.Second

// Elections is the table of `primacy status`; new terms, and elections without a leader, stand
// out.
func Elections(r status.Report) []string {
	rows, _ := r.Rows()
	lines := Table(rows)
	for i, e := range r.Elections {
		switch {
		case !Led(e):
			lines[i+1] = Bad.Of(lines[i+1])
		case r.At.Sub(e.Acquired) < FreshFor:
			lines[i+1] = Fresh.Of(lines[i+1])
		}
	}
	return lines
}

// Members is the table of members of `primacy status`; members that are gone or not ready
// stand out. It is empty if there are none.
func Members(r status.Report) []string {
	_, rows := r.Rows()
	if len(rows) < 2 {
		return nil
	}
	lines := Table(rows)
	at := 1
	for _, m := range r.Members {
		if m.State == status.Ended {
			continue // it has no row
		}
		if m.State != status.Live || !m.Ready {
			lines[at] = Bad.Of(lines[at])
		}
		at++
	}
	return lines
}

// Title is the title line of a view: its name, how many elections are led, and the texts about.
func Title(name string, r status.Report, about ...string) string {
	led := fmt.Sprintf("%d of %d elections led", CountLed(r), len(r.Elections))
	if CountLed(r) < len(r.Elections) {
		led = Bad.Of(led)
	}
	words := append([]string{Bold.Of(name), r.At.Local().Format(time.TimeOnly)}, about...)
	return strings.Join(append(words, led), "   ")
}

// Led says whether a member leads an election, as far as one look can tell.
func Led(e status.Election) bool { return e.State == status.Led && !e.Stale }

// CountLed is how many elections are led.
func CountLed(r status.Report) (n int) {
	for _, e := range r.Elections {
		if Led(e) {
			n++
		}
	}
	return n
}
