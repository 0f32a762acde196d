package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// What a member notes for its parent.
const (
	noteKubeconfig = "kubeconfig"
	noteNamespace  = "namespace"
	noteLogLevel   = "logLevel"
	noteLogFormat  = "logFormat"
)

// These bound how long the parent of a dead member tries: whoever restarts the program waits for it. A member that
// ended in order has itself tried for long to end its session, and who sends a signal is in a hurry.
const (
	burialTime  = 5 * time.Second
	burialHaste = time.Second
)

// outlive is the rest of a parent's life, once its member has died: it waits until nothing is left of the member,
// and ends the sessions that the member left. Then it ends as the member did.
func outlive(ctx context.Context, d *parent.Dead) {
	ctx, cancel := context.WithTimeout(ctx, burialTime)
	defer cancel()
	defer d.Exit(ctx)
	log := newLogger(d.Note(noteLogLevel), d.Note(noteLogFormat)).With(zap.String("member", d.How()))
	defer func() { _ = log.Sync() }()
	burial, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() { // ends with the burial
		if !d.InOrder() {
			select {
			case <-d.Hurried():
			case <-burial.Done():
				return
			}
		}
		clock.Wait(burial, burialHaste)
		giveUp()
	}()
	if err := buryAll(burial, d, log); err != nil {
		log.Warn("the member is dead, but nobody can prove it: its elections are led again when its session has lapsed", zap.Error(err))
	}
}

func buryAll(ctx context.Context, d *parent.Dead, log *zap.Logger) error {
	left := d.Sessions()
	if len(left) == 0 {
		return nil
	}
	cluster, err := findCluster(d.Note(noteKubeconfig))
	if err != nil {
		return err
	}
	client, err := lease.NewClient(cluster.config)
	if err != nil {
		return err
	}
	sessions := lease.In(client, d.Note(noteNamespace))
	if err := d.Proved(ctx); err != nil {
		return err
	}
	var errs []error
	for _, s := range slices.Backward(left) { // the last one is most likely alive
		death := election.Death{Proof: election.ProofParent, Identity: s.Identity, By: "parent of " + s.Identity, How: d.How(), At: d.At()}
		if err := election.Bury(ctx, sessions, s.Name, death); err != nil {
			errs = append(errs, err)
			continue
		}
		log.Info("the member died, and nothing of it is left: its session is over, and others lead its elections at once",
			zap.String("identity", s.Identity), zap.String("session", s.Name))
	}
	return errors.Join(errs...)
}

// untilOrphaned is a context that ends when the parent of this process dies: nobody passes on signals then, or
// proves a death. The caller must call stop.
func untilOrphaned(ctx context.Context, line *parent.Line, log *zap.Logger) (alive context.Context, stop func()) {
	alive, cancel := context.WithCancel(ctx)
	go func() { // ends with alive
		select {
		case <-line.Broken():
			log.Warn("stopping, as after SIGTERM: the parent process has died")
			cancel()
		case <-alive.Done():
		}
	}()
	return alive, cancel
}
