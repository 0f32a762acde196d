package dev

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
)

// run is one run. It belongs to the goroutine of Run; other goroutines send to its channels.
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
	leave      func()  // restores the terminal; may be called again
	typed      bool    // we read lines that a person types

	preferred record.Preferred
	source    *revisions.Switch
	// recent are the last events, for the screen.
	recent view.Log
	// ledAfter is how long it took until all elections were led; zero until then.
	ledAfter time.Duration
	// endBy is when the run must end, set when Options.For is over; zero until then.
	endBy time.Time
	// waited: we have already printed that not all elections are led yet.
	waited bool

	clusterGone chan *child
	events      chan sighted
	preferences chan record.Preferred
	documents   chan *config.Configuration
	commands    chan command
	lines       chan string
	watching    chan error
}

// Run runs a group until a signal, the person or Options.For ends it.
// The error says why it could not start or go on, or what was not well at its end. When it
// returns, no goroutine, process or file of the run is left.
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
		clusterGone: make(chan *child, 1), events: make(chan sighted, 256), preferences: make(chan record.Preferred),
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

// run starts everything, runs the loop, and takes everything down.
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

// prepare makes the namespace and the default revision, which members need.
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

// decodeSource makes the source of the preferred revision; nil if there is none.
func (r *run) decodeSource(c *config.Configuration) (election.Preferences, error) {
	b := c.DefaultRevision
	if b == nil {
		return nil, nil
	}
	sources, err := r.Sources(r.cluster.config)
	if err != nil {
		return nil, err
	}
	source, err := sources.Decode(b.Kind, b.Node, revisions.Env{Namespace: r.cluster.namespace})
	return source, c.Within(*b, err)
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

// event shows an event with the present time.
func (r *run) event(format string, args ...any) {
	now, line := time.Now(), fmt.Sprintf(format, args...)
	r.recent.Add(now, line)
	if r.screen == nil {
		r.console.event(now, line)
		return
	}
	r.screen.show(r.snapshot(now))
}
