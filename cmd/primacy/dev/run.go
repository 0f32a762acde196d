package dev

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
)

// run is one run. It belongs to the goroutine of Run; the channels are how others tell it.
type run struct {
	Options
	begin      time.Time
	console    *console
	interrupts *interrupts
	dir        *folder
	doc        *document
	plan       plan
	cluster    *cluster
	crew       *crew
	board      *board
	screen     *screen // nil while lines are printed
	leave      func()  // gives the terminal back; it may be called again
	typed      bool    // what a person types is read

	preferred record.Preferred
	source    *revisions.Switch
	// recent are the last events, for the screen.
	recent []string
	// ledAfter is how long it took until all elections were led; zero before.
	ledAfter time.Duration
	// endBy is when a run that is over by the clock ends at last; zero while it goes on.
	endBy time.Time
	// waited: it was said that not all elections are led yet.
	waited bool

	clusterGone chan *child
	events      chan lock.Event
	preferences chan record.Preferred
	documents   chan *config.Configuration
	commands    chan command
	lines       chan string
	watching    chan error
}

// Run runs a group until it is told to end, by a signal, by the person or by Options.For.
// The error says why it could not start or go on, or what was not well at its end. When it
// returns, nothing of it is left.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	devcluster, err := findDevcluster(o.Devcluster, o.Program)
	if err != nil {
		return err
	}
	r := &run{
		Options: o, begin: time.Now(), console: &console{out: o.Stdout}, interrupts: watchInterrupts(ctx),
		clusterGone: make(chan *child, 1), events: make(chan lock.Event, 256), preferences: make(chan record.Preferred),
		documents: make(chan *config.Configuration), commands: make(chan command, 16), lines: make(chan string), watching: make(chan error, 1),
	}
	defer r.interrupts.close()
	if r.dir, err = makeFolder(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.dir.close()) }()
	if r.doc, err = openDocument(o.Config, r.dir, o.Check); err != nil {
		return err
	}
	if r.plan, err = r.doc.plan(); err != nil {
		return err
	}
	return r.run(devcluster)
}

// run starts everything, lets it go on, and takes it down.
func (r *run) run(devcluster string) (err error) {
	ctx := r.interrupts.ctx
	r.console.say("starting an API server (devcluster) and %s; Ctrl-C ends all of it", count(r.Members, "member"))
	r.cluster, err = startCluster(ctx, devcluster, r.dir, func(c *child) { r.clusterGone <- c })
	if ctx.Err() != nil {
		return nil // asked to end before it began
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.stop(r.interrupts.hurry)) }()
	r.event("API server %s ready after %s; kubeconfig %s", r.cluster.url, rough(time.Since(r.begin)), r.cluster.kubeconfig)
	if err := r.prepare(ctx); err != nil {
		return r.unlessAsked(ctx, err)
	}
	defer func() { err = errors.Join(err, r.takeDown()) }()
	stop := r.watch(ctx)
	defer stop()
	now := time.Now()
	r.crew.plan(now, r.plan.canary)
	for _, m := range r.crew.due(now) {
		if err := r.crew.start(m, now); err != nil {
			return err
		}
	}
	return r.unlessAsked(ctx, r.loop(ctx))
}

func (r *run) unlessAsked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// prepare makes what members need: the namespace and the default revision.
func (r *run) prepare(ctx context.Context) (err error) {
	if err := r.cluster.connect(ctx, r.Connect, r.doc.Namespace); err != nil {
		return err
	}
	if r.plan.key != nil {
		if err := r.cluster.prefer(ctx, *r.plan.key, r.plan.stable); err != nil {
			return err
		}
	}
	r.board = newBoard(r.doc.Group, r.doc.expected())
	source, err := r.decodeSource(r.doc.Configuration)
	if err != nil {
		return err
	}
	r.source = revisions.NewSwitch(source)
	r.crew, err = newCrew(r.Options, r.dir, r.plan, r.doc, r.cluster)
	return err
}

// watch starts the goroutines that tell the loop what happens; stop joins them.
func (r *run) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := lease.In(r.cluster.leases, r.cluster.namespace).Watch(ctx, func(e lock.Event) { send(ctx, r.events, e) })
		if err != nil {
			r.watching <- err
		}
	})
	wg.Go(func() {
		// It ends with ctx; a source that gives up is the members' to report.
		_ = r.source.Watch(ctx, func(p record.Preferred) { send(ctx, r.preferences, p) })
	})
	wg.Go(func() {
		// Members follow the file too, and say what is wrong with it.
		_ = config.Watch(ctx, r.doc.path, func(c *config.Configuration, err error) {
			if err == nil && r.Check(c) == nil {
				send(ctx, r.documents, c)
			}
		})
	})
	return func() {
		cancel()
		wg.Wait()
		r.cluster.leases.CloseIdleConnections()
	}
}

// send sends unless ctx ends first.
func send[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// How often what changes by itself is looked at: restarts that are due, ages, logs.
const lookEvery = 250 * time.Millisecond

// loop goes on until the run is over, and says whether all was well.
func (r *run) loop(ctx context.Context) error {
	r.enter(ctx)
	defer r.leave()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var over <-chan time.Time
	if r.For > 0 {
		timer := time.NewTimer(r.For)
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
			for _, line := range r.board.observe(e, time.Now()) {
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
		case now := <-tick.C:
			r.look(now)
		}
		if done, err := r.settle(time.Now()); done {
			return err
		}
	}
}

// look does what is due by the clock.
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

// settle says what has come to be since the last event, and whether the run is over.
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

// verdict is nil when all was well.
func (r *run) verdict(amiss []string) error {
	wrong := append(amiss, r.board.wrong...)
	for _, m := range r.crew.members {
		if m.crashed > 0 {
			wrong = append(wrong, fmt.Sprintf("member %s ended by itself, %s", m.name, count(m.crashed, "time")))
		}
	}
	if len(wrong) == 0 {
		r.event("all was well: %s led, %s, none missed", count(len(r.doc.Elections), "election"), count(r.board.moves, "transition"))
		return nil
	}
	return fmt.Errorf("not all was well after %v:\n  %s", r.For, strings.Join(wrong, "\n  "))
}

// start starts a member for the first time, or one that was away.
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

// memberEnded says how a process ended, if that is news.
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
	change := config.Compare(r.doc.Configuration, next)
	if change.None() {
		return
	}
	r.event("configuration changed: elections added %v, removed %v, changed %v", change.Added, change.Removed, change.Changed)
	if change.Process {
		r.event("group, namespace, member and session timing stay as they were: start primacy dev again to change them")
	}
	present := *next
	present.Group, present.Namespace, present.Timing = r.doc.Group, r.doc.Namespace, r.doc.Timing
	r.doc.Configuration = &present
	r.board.expect(r.doc.Group, r.doc.expected(), time.Now())
	if !change.DefaultRevision {
		return
	}
	if source, err := r.decodeSource(next); err == nil {
		r.source.Use(source)
	}
	if p, err := r.doc.plan(); err == nil {
		r.plan.key = p.key
	}
}

// decodeSource makes the source of the preferred revision; nil if there is none.
func (r *run) decodeSource(c *config.Configuration) (election.Preferences, error) {
	b := c.DefaultRevision
	if b == nil {
		return nil, nil
	}
	source, err := r.Sources(r.cluster.core).Decode(b.Kind, b.Node, revisions.Env{Namespace: r.cluster.namespace})
	return source, c.Within(*b, err)
}

// showLogs prints what members have logged since the last time.
func (r *run) showLogs() {
	for _, m := range r.crew.members {
		for _, line := range m.log.news() {
			r.console.say("%s | %s", m.name, printable(strings.ReplaceAll(line, "\t", " ")))
		}
	}
}

// takeDown ends the members and says so.
func (r *run) takeDown() error {
	r.console.say("stopping %s: work stops, then locks are released", count(len(r.crew.members), "member"))
	begin := time.Now()
	slain, err := r.crew.close(r.interrupts.hurry, func(names []string) {
		r.console.say("still waiting for %s; Ctrl-C again kills them", strings.Join(names, ", "))
	})
	if len(slain) > 0 {
		r.console.say("killed: %s", strings.Join(slain, ", "))
		return err
	}
	r.console.say("all stopped after %s", rough(time.Since(begin)))
	return nil
}

// event tells something that happened now.
func (r *run) event(format string, args ...any) {
	now, line := time.Now(), fmt.Sprintf(format, args...)
	r.recent = append(r.recent, now.Format(time.TimeOnly)+" "+line)
	r.recent = r.recent[max(0, len(r.recent)-mostRecent):]
	if r.screen == nil {
		r.console.event(now, line)
		return
	}
	r.screen.show(r.snapshot(now))
}

// mostRecent is how many events are remembered.
const mostRecent = 100
