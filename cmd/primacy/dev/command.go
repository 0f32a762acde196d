package dev

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
)

// command is a person's command, typed as a line or as a key.
type command struct {
	verb verb
	// argument is a member, or a revision; if it is empty, the command chooses.
	argument string
}

type verb string

const (
	switchRevision verb = "r"
	killMember     verb = "k"
	stopMember     verb = "s"
	quit           verb = "q"
)

// parseCommand reads a line. An empty line is the zero command.
func parseCommand(line string) (command, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return command{}, nil
	}
	c := command{verb: verb(words[0]), argument: strings.Join(words[1:], " ")}
	switch c.verb {
	case switchRevision, killMember, stopMember, quit:
		return c, nil
	}
	return command{}, fmt.Errorf("%.40q is nothing to do: r [REVISION] switches the default revision, k [MEMBER] kills a member, s [MEMBER] stops it or starts it again, q quits", line)
}

// obey carries out a command.
func (r *run) obey(ctx context.Context, c command) {
	switch c.verb {
	case switchRevision:
		r.switchRevision(ctx, c.argument)
	case killMember:
		if m := r.target(c.argument, "kill"); m != nil {
			r.event("member %s: killed (SIGKILL), comes back %v later", m.name, killPause)
			r.crew.kill(m)
		}
	case stopMember:
		r.stopOrStart(c.argument)
	case quit:
		r.interrupts.press()
	}
}

// stopOrStart stops the named member, or starts it if it does not run.
func (r *run) stopOrStart(name string) {
	if m := r.crew.named(name); m != nil && m.phase != running && m.phase != stopping {
		if m.phase == killed && m.returnAt.IsZero() {
			r.event("member %s has not ended yet", m.name)
			return
		}
		r.start(m)
		return
	}
	if m := r.target(name, "stop"); m != nil {
		r.event("member %s: told to stop (SIGTERM)", m.name)
		r.crew.stop(m)
	}
}

func (r *run) switchRevision(ctx context.Context, to string) {
	if r.plan.key == nil {
		r.event("%v", errFixed)
		return
	}
	if to == "" {
		to = r.plan.other(r.preferred.Revision)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := r.cluster.prefer(ctx, *r.plan.key, to); err != nil {
		r.event("%s", view.Printable(err.Error()))
	}
}

// target is the running member of the given name; the busiest member if name is empty.
func (r *run) target(name, what string) *member {
	if name == "" {
		name = r.busiest()
	}
	m := r.crew.named(name)
	switch {
	case name == "":
		r.event("there is no running member to %s", what)
	case m == nil:
		r.event("there is no member %s to %s", view.Printable(name), what)
	case m.phase != running:
		r.event("member %s is %s already", m.name, m.phase)
	default:
		return m
	}
	return nil
}

// busiest is the running member that leads most elections; empty when none runs.
func (r *run) busiest() string {
	leads := map[string]int{}
	for _, m := range r.board.report(time.Now()).Members {
		leads[view.NameOf(m.Identity)] += m.Leads
	}
	best := ""
	for _, m := range r.crew.members {
		if m.phase == running && (best == "" || leads[m.name] > leads[best]) {
			best = m.name
		}
	}
	return best
}
