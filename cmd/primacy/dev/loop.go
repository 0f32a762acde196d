package dev

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// lookEvery is how often we check what changes with time: restarts that are due, ages, logs.
const lookEvery = 250 * time.Millisecond

// loop handles events until the run is over; its error says what was wrong.
func (r *run) loop(ctx context.Context) error {
	r.enter(ctx)
	defer r.leave()
	tick := clock.NewTimer(lookEvery)
	defer tick.Stop()
	var over <-chan struct{}
	if r.For > 0 {
		timer := clock.NewTimer(r.For)
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case gone := <-r.clusterGone:
			r.leave()
			r.event("the API server ended by itself: %s", how(gone.end))
			return r.cluster.failed(ctx, fmt.Errorf("it ended by itself: %s", how(gone.end)))
		case err := <-r.watching:
			return fmt.Errorf("watch elections: %w", err)
		case err := <-r.screen.ended():
			if err != nil {
				return fmt.Errorf("live view: %w (pipe the output somewhere to get plain lines)", err)
			}
			r.interrupts.press()
		case e := <-r.events:
			for _, line := range r.board.observe(e.kind, e.Event, time.Now()) {
				r.event("%s", line)
			}
		case r.preferred = <-r.preferences:
			r.event("default revision: %s", r.preferred)
		case c := <-r.documents:
			r.follow(c)
		case x := <-r.crew.exits:
			r.memberEnded(x)
		case c := <-r.commands:
			r.obey(ctx, c)
		case line := <-r.lines:
			if c, err := parseCommand(line); err != nil {
				r.event("%v", err)
			} else {
				r.obey(ctx, c)
			}
		case <-over:
			r.endBy = time.Now().Add(grace(r.doc.Timing))
		case <-tick.C:
			tick.Reset(lookEvery)
			r.look(time.Now())
		}
		if done, err := r.settle(time.Now()); done {
			return err
		}
	}
}

// look does what is due at this time.
func (r *run) look(now time.Time) {
	for _, m := range r.crew.due(now) {
		r.start(m)
	}
	for _, line := range r.board.mourn(now) {
		r.event("%s", line)
	}
	if r.Verbose {
		r.showLogs()
	}
	if r.ledAfter == 0 && !r.waited && now.Sub(r.begin) > 2*grace(r.doc.Timing) {
		r.waited = true
		r.event("not all elections are led yet; what members say is in %s/*.log%s", r.dir.path,
			indented(r.board.amiss(now, r.preferred, r.doc.policies())))
	}
	if r.screen != nil {
		r.screen.show(r.snapshot(now))
	}
}

// settle prints what the last event has changed, and says whether the run is over.
func (r *run) settle(now time.Time) (done bool, err error) {
	if r.console.broken != nil {
		return true, fmt.Errorf("output: %w", r.console.broken)
	}
	for _, line := range r.board.memberNews(now) {
		r.event("%s", line)
	}
	if r.ledAfter == 0 && r.board.allLed(now) {
		r.ledAfter = now.Sub(r.begin)
		r.event("all elections led: %s, %s, %s after the start", count(len(r.doc.Elections), "election"), count(r.Members, "member"), rough(r.ledAfter))
		r.suggest()
	}
	if r.endBy.IsZero() {
		return false, nil
	}
	amiss := r.board.amiss(now, r.preferred, r.doc.policies())
	if len(amiss) > 0 && now.Before(r.endBy) {
		return false, nil
	}
	r.leave()
	return true, r.verdict(amiss)
}

// start starts a member, for the first time or again.
func (r *run) start(m *member) {
	first := m.phase == awaited
	if err := r.crew.start(m, time.Now()); err != nil {
		r.event("%v", err)
		m.phase = running
		r.crew.ended(m, err, time.Now())
		return
	}
	if !first {
		r.event("member %s: started again", m.name)
	}
}

// memberEnded prints how a process ended, unless we killed it.
func (r *run) memberEnded(x exit) {
	m, before := x.member, x.member.phase
	r.crew.ended(m, x.child.end, time.Now())
	switch {
	case before == killed:
	case before == stopping:
		r.event("member %s has ended; s %s starts it again", m.name, m.name)
	case m.phase == stopped:
		r.event("member %s ended, as somebody asked it to; s %s starts it again", m.name, m.name)
	case m.phase == killed:
		r.event("member %s was killed; it comes back %v later", m.name, killPause)
	default:
		r.event("member %s ended by itself: %s; it is started again%s", m.name, how(x.child.end), indented(m.log.tail()))
	}
}

// follow takes up a changed configuration, as the members do.
func (r *run) follow(next *config.Configuration) {
	plan, err := config.NewPlan(r.doc.Configuration, next)
	if err != nil {
		r.event("the changed configuration is refused; the one before stays in force:%s", indented(strings.Split(err.Error(), "\n")))
		return
	}
	if plan.None() {
		return
	}
	r.event("configuration changed: elections added %v, removed %v, changed %v", plan.Named(config.Add), plan.Named(config.Remove), plan.Named(config.Exchange))
	if plan.Restarts != nil {
		r.event("group, namespace, member and session timing stay as they were: start primacy dev again to change them")
	}
	r.doc.Configuration = plan.Next
	for _, line := range r.board.expect(r.doc.Group, r.doc.expected(), time.Now()) {
		r.event("%s", line)
	}
	if !plan.DefaultRevision {
		return
	}
	if source, err := r.decodeSource(plan.Next); err == nil {
		r.source.Use(source)
	}
	if p, err := r.doc.plan(); err == nil {
		r.plan.key = p.key
	}
}

// showLogs prints what members have logged since the last time.
func (r *run) showLogs() {
	for _, m := range r.crew.members {
		for _, line := range m.log.news() {
			r.console.say("%s | %s", m.name, view.Printable(strings.ReplaceAll(line, "\t", " ")))
		}
	}
}
