package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/internal/tries"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Parent is told of this member's sessions by the Manager. It outlives the member, and once the member is dead
// with all its work, it calls Bury. The methods may be called by any goroutine, and must not block for long.
type Parent interface {
	// Expect is called before the session is created. After an error the member goes on: nobody proves its
	// death then, and its session lapses when it dies.
	Expect(session, identity string) error
	// Over is called when the session of the identity has ended, so that nothing is left to prove.
	Over(identity string) error
	// Broken is closed when the parent has died: nobody passes on signals then, or proves a death. The Manager leaves,
	// as if the context of its Run had ended.
	Broken() <-chan struct{}
}

// Death says how somebody knows that a member is dead, with all work that it had begun.
type Death = record.Death

// ProofParent: a process has reaped the member and all of its descendants.
const ProofParent = record.ProofParent

// ProofCgroup: the control group that the member had for itself is empty, and the process that held its lock is dead.
const ProofCgroup = record.ProofCgroup

// ErrOrphaned is returned by Run: this member left because its parent process died.
var ErrOrphaned = errors.New("the parent process has died")

// ErrNotBuried is wrapped by errors of Bury, BuryOnWord and CheckWord: the session lapses as usual.
var ErrNotBuried = errors.New("session not ended")

// Bury ends the session of a dead member before it lapses, so that its elections are led again at once. It tries
// until ctx ends, for as long as the session is that of d.Identity. It returns nil once the session has ended,
// by whomever. If twenty looks show no such object at all, it gives up with an error that wraps ErrNotBuried: the session
// may be stored elsewhere, or the write that creates it may still arrive.
//
// Only a caller that has proved that the member is dead, and that none of its work goes on, may call Bury. It
// refuses if the session does not accept that kind of proof.
func Bury(ctx context.Context, locks lock.Store, name string, d Death) error {
	if d.Proof.IsWord() {
		return fmt.Errorf("%w: %s: %s's word counts only after a silence (call BuryOnWord)", ErrNotBuried, name, d.Proof)
	}
	var why tries.Why
	stored := false
	for again := 0; ; again++ {
		if again > 0 && !clock.Wait(ctx, buryPause) {
			return fmt.Errorf("%w: %s: %w", ErrNotBuried, name, why.Over(ctx))
		}
		e, err := locks.Get(ctx, name)
		switch {
		case err != nil:
			why.Failed(ctx, err)
			continue
		case e.Record == nil || e.Record.Holder == "": // the write that creates it may be on its way
			stored = stored || e.Record != nil
			if again >= freeLooks {
				if !stored {
					return fmt.Errorf("%w: %s: no such session is stored (another cluster or namespace?, or the write that creates it is still under way)", ErrNotBuried, name)
				}
				return nil
			}
			continue
		case e.Record.Holder != d.Identity:
			return nil
		}
		ended, err := session.Bury(e.Record, e.Version, d)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrNotBuried, name, err)
		}
		if _, err = locks.Put(ctx, name, ended, e.Version); err == nil {
			return nil
		}
		why.Failed(ctx, err)
	}
}

// buryPause is the pause between two tries, and freeLooks how often we look for a session in a slot that is free.
const (
	buryPause = 50 * time.Millisecond
	freeLooks = 20
)

// proofs are the ways to know that this member is dead.
func (c *Config) proofs() []record.Proof {
	if c.Parent == nil {
		return c.Proofs
	}
	return append([]record.Proof{ProofParent}, c.Proofs...)
}

// untilOrphaned is a context that ends with ErrOrphaned when the parent of this process dies. The caller must call
// stop, which waits for the goroutine that it starts.
func (c *Config) untilOrphaned(ctx context.Context) (alive context.Context, stop func()) {
	if c.Parent == nil {
		return ctx, func() {}
	}
	alive, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-c.Parent.Broken():
			cancel(ErrOrphaned)
			c.Log.Warn("stopping, as after SIGTERM: the parent process has died") // the log may hang
		case <-alive.Done():
		}
	})
	return alive, func() { cancel(nil); wg.Wait() }
}

// expect tells the parent and the kubelet of a session before the write that may create it.
func (h *host) expect(name, holder string) {
	if holder != h.identity {
		return
	}
	h.expecting.Lock()
	defer h.expecting.Unlock()
	if h.expected == name {
		return
	}
	if h.cfg.Parent != nil {
		if err := h.cfg.Parent.Expect(name, holder); err != nil {
			h.cfg.Log.Warn("the parent process does not hear us, so nobody proves our death: after a crash our elections wait for a leaseDuration", zap.Error(err))
		}
	}
	if h.cfg.Announce != nil {
		if err := h.m.announcer.announce(h.ctx, h.cfg.Announce, holder); err != nil {
			h.cfg.Log.Warn("our identity is not in the termination log, so no kubelet can tell of our death", zap.Error(err))
		}
	}
	h.expected = name
}

// ended tells the parent that nothing is left to prove.
func (h *host) ended() {
	if h.cfg.Parent != nil && h.member.SessionEnded() {
		_ = h.cfg.Parent.Over(h.identity) // without it, the parent finds out by itself
	}
}
