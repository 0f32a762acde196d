package app

import (
	"context"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
)

// reloader applies changes of the configuration to a running member. It belongs to the
// goroutine that watches the file.
type reloader struct {
	member *member
	// ctx ends when the member leaves.
	ctx context.Context
	// current is the configuration in force.
	current *config.Configuration
}

// deliver takes in a configuration, or why there is none.
func (r *reloader) deliver(next *config.Configuration, err error) {
	log := r.member.log
	if err == nil {
		err = r.apply(next)
	}
	if err != nil {
		log.Error("the changed configuration is wrong; the one before stays in force", zap.Error(err))
	}
}

// apply makes next the configuration in force; with an error nothing has changed.
func (r *reloader) apply(next *config.Configuration) error {
	m := r.member
	plan, err := m.planner.plan(next)
	if err != nil {
		return err
	}
	change := config.Compare(r.current, next)
	r.current = next
	m.log.Info("configuration changed", zap.Strings("added", change.Added),
		zap.Strings("removed", change.Removed), zap.Strings("changed", change.Changed))
	if change.Process && config.Compare(m.process.Configuration, next).Process {
		m.log.Warn("group, namespace, member, metrics or the timing of sessions changed, which takes effect when this process is restarted")
	}
	if change.DefaultRevision {
		m.log.Info("the source of the preferred revision changed")
		m.source.Use(plan.source)
	}
	r.remove(slices.Concat(change.Removed, change.Changed))
	for _, e := range plan.elections {
		if slices.Contains(change.Added, e.spec.Name) || slices.Contains(change.Changed, e.spec.Name) {
			if err := m.add([]planned{e}); err != nil {
				m.log.Error("election cannot be added", zap.String("election", e.spec.Name), zap.Error(err))
			}
		}
	}
	return nil
}

// remove gives elections up, all at once, and returns when their locks are released.
func (r *reloader) remove(names []string) {
	var wg sync.WaitGroup
	for _, name := range names {
		r.member.roster.remove(name)
		wg.Go(func() {
			if err := r.member.manager.Remove(r.ctx, name); err != nil && r.ctx.Err() == nil {
				r.member.log.Error("election cannot be removed", zap.String("election", name), zap.Error(err))
			}
			r.member.figures.remove(name)
		})
	}
	wg.Wait()
}
