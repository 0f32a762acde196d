package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// reload is a plan to take up another document, ready to be carried out.
type reload struct {
	*config.Plan
	made *plan
}

// reload plans how a process with the configuration inForce takes up the configuration written.
// `validate --against` shows the same plan. The error is a strict.Errors.
func (p planner) reload(ctx context.Context, inForce, written *config.Configuration) (*reload, error) {
	steps, err := config.NewPlan(inForce, written)
	if err != nil {
		return nil, p.withTypos(written, err)
	}
	made, err := p.plan(ctx, steps.Next)
	if err != nil {
		return nil, err
	}
	return &reload{steps, made}, nil
}

// withTypos puts mistyped kinds of locks in the place of the refusals that follow from them: such a word reads as a change of the lock.
func (p planner) withTypos(written *config.Configuration, refused error) error {
	var typos strict.Errors
	for _, e := range written.Elections {
		p.lockKinds(written, e, func(err error) {
			var typo *strict.Error
			if errors.As(err, &typo) {
				typos = append(typos, typo)
			}
		})
	}
	if typos == nil {
		return refused
	}
	return together(typos, config.Independent(typos, mistakesIn(refused)))
}

// begun are the elections that are added or exchanged.
func (r *reload) begun() (begun []planned) {
	for i, e := range r.made.elections {
		if v := r.Steps[i].Verb; v == config.Add || v == config.Exchange {
			begun = append(begun, e)
		}
	}
	return begun
}

// change is the reload as the manager takes it.
func (r *reload) change() election.Change {
	change := election.Change{Remove: r.Named(config.Remove)}
	for _, e := range r.begun() {
		change.Put = append(change.Put, election.Entry{Spec: e.spec, Runner: e.runner})
	}
	return change
}

// elections is the part of a manager that a reloader uses.
type elections interface {
	Apply(c election.Change) error
	Settled() <-chan struct{}
	SetLag(why string)
}

// reloader makes a running member take up its changed file. It belongs to the goroutine that
// watches the file.
type reloader struct {
	planner planner
	// permits returns an error if this process lacks permissions for the reload; a nil func skips the check.
	permits   func(context.Context, *reload) error
	elections elections
	source    *revisions.Switch
	roster    *roster
	labels    *labelled
	figures   *figures
	counts    *reloads
	log       *zap.Logger
	// inForce is the configuration in force.
	inForce *config.Configuration
	// lag is why the written configuration is not in force, for SetLag; empty if it is. slow is when a look at the file stalls;
	// zero for config's default.
	lag  string
	slow time.Duration
	// waits is the last logged text about fields that wait for a restart.
	waits string
	// telling joins the goroutines that wait to log that a change is in force. They end with the manager's Run.
	telling sync.WaitGroup
}

// take brings a written configuration into force. On an error nothing has changed.
func (r *reloader) take(ctx context.Context, written *config.Configuration) error {
	next, err := r.planner.reload(ctx, r.inForce, written)
	if err != nil {
		return err
	}
	if err := missing(next.begun()); err != nil { // kept elections may lack files by now; their work goes on
		return err
	}
	if r.permits != nil {
		if err := r.permits(ctx, next); err != nil {
			return err
		}
	}
	if err := r.elections.Apply(next.change()); err != nil {
		return err
	}
	logWeaker(r.log, next.begun())
	r.inForce = next.Next
	r.roster.set(next.made)
	r.labels.set(next.made)
	for i, s := range next.Steps {
		switch s.Verb {
		case config.Add, config.Exchange:
			r.figures.add(s.Election, next.made.elections[i].figures)
		case config.Remove:
			r.figures.remove(s.Election)
		}
	}
	if next.DefaultRevision {
		r.source.Use(next.made.source)
	}
	r.counts.took()
	r.tell(next.Plan, r.elections.Settled())
	return nil
}

// tell logs the reload. It logs "configuration changed" only when nothing of the earlier configuration
// is at work or holds a lock: then the next step of a move may begin.
func (r *reloader) tell(p *config.Plan, settled <-chan struct{}) {
	log, changed := r.log, []zap.Field{zap.Strings("added", p.Named(config.Add)),
		zap.Strings("removed", p.Named(config.Remove)), zap.Strings("changed", p.Named(config.Exchange))}
	if labels := p.Named(config.Relabel); labels != nil {
		changed = append(changed, zap.Strings("relabelled", labels))
	}
	waiting := restarts(p.Restarts)
	r.lags(untilRestart(waiting))
	if waiting == r.waits {
		waiting = ""
	} else {
		r.waits = waiting
	}
	say := func() {
		log.Info("configuration changed", changed...)
		if p.DefaultRevision {
			log.Info("the source of the preferred revision changed")
		}
		for _, s := range p.Steps {
			for _, note := range s.Notes {
				log.Warn("configuration changed: "+note, zap.String("election", s.Election))
			}
		}
		if waiting != "" {
			log.Warn("some changes take effect only when this process restarts", zap.String("waiting", waiting))
		}
	}
	select {
	case <-settled:
		say()
	default:
		log.Info("the changed configuration is being taken up", changed...)
		r.telling.Go(func() {
			<-settled
			say()
		})
	}
}

// follow applies changes of the process's configuration file until ctx ends.
func (r *reloader) follow(ctx context.Context, p *config.Process) error {
	return p.Watch(ctx, config.Follower{
		Take: func(written *config.Configuration) error { return r.take(ctx, written) },
		Refuse: func(err error) {
			if ctx.Err() == nil { // otherwise the end of ctx cut the check off, and the file may be right
				r.refuse(err)
			}
		},
		Stalls: func() (over func()) { return r.stalls(p.Config) },
		Slow:   r.slow,
	})
}

// stalledLag is why a member does not go by its configuration as it is written, if a look at the file does not end.
const stalledLag = "configuration not followed: a look at its file does not end (see the log)"

// stalls says that changes of the file have no effect for now, since a look at it does not end. The goroutine of the look is
// busy: stalls uses none of its state. over runs after the look has ended.
func (r *reloader) stalls(file string) (over func()) {
	log := r.log.With(zap.String("file", file))
	log.Error("a look at the configuration does not end; its changes have no effect meanwhile (see that the disk answers that has this file, or the command or dir of a runner)")
	r.elections.SetLag(stalledLag)
	return func() {
		log.Info("the look at the configuration has ended; changes have effect again")
		r.elections.SetLag(r.lag)
	}
}

// lags publishes why the written configuration is not in force; empty if it is.
func (r *reloader) lags(why string) {
	r.lag = why
	if r.elections != nil {
		r.elections.SetLag(why)
	}
}

// refuse logs why a written configuration is not in force.
func (r *reloader) refuse(err error) {
	r.counts.refuse()
	var more []string
	if mistakes := mistakesIn(err); len(mistakes) > 1 {
		err = mistakes[0]
		for _, m := range mistakes[1:] {
			more = append(more, m.Error())
		}
	}
	r.lags(refusedLag + err.Error())
	log := r.log
	if more != nil {
		log = log.With(zap.Strings("more", more))
	}
	log.Error("the changed configuration is refused; the one before stays in force", zap.Error(err))
}

// untilRestart says of fields that they wait for a restart; empty for none.
func untilRestart(fields string) string {
	if fields == "" {
		return ""
	}
	return "must restart to take up " + fields
}

// moved are the elections that a rollout may move, and those of scope: revision, which none does.
func (p *plan) moved() (moved, scoped []election.Spec) {
	for _, e := range p.elections {
		if e.suffix == "" {
			moved = append(moved, e.spec)
		} else {
			scoped = append(scoped, e.spec)
		}
	}
	return moved, scoped
}
