package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/internal/tries"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Proof is a way to know that a member is dead, other than that its session has lapsed.
type Proof = record.Proof

// ProofOperator: a person says that the member is dead.
const ProofOperator = record.ProofOperator

// ProofKubelet: the kubelet of the member's node says that the member's container has ended. Package kubelet hears it.
const ProofKubelet = record.ProofKubelet

// ProofOutOfService: the taint node.kubernetes.io/out-of-service says that the member's node is switched off. Package
// kubelet hears it.
const ProofOutOfService = record.ProofOutOfService

// Errors of BuryOnWord wrap ErrRefuted if the session has changed since it was seen: the word does not count, now or
// later.
var ErrRefuted = session.ErrRefuted

// CheckWord checks whether BuryOnWord may end the session that seen shows: it is that of d.Identity, and accepts the
// kind of word. It returns how long the session must be silent. Errors wrap ErrNotBuried.
func CheckWord(seen lock.Entry, d Death) (quiet time.Duration, err error) {
	if quiet, err = session.CheckWord(session.Shown(seen), d); err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrNotBuried, seen.Name, err)
	}
	return quiet, nil
}

// BuryOnWord ends the session of a member on somebody's word that it is dead (rule words-need-silence). seen is the
// session as a Get showed it, before the word or with it. BuryOnWord waits until the session was silent for two of its
// renewIntervals, by c. Then it ends the session, if that is still as it was seen. Each of its reads is a Get, so a
// session that has not changed has not beaten either. The silence begins anew when a read fails, or when the store
// answers none for a renewInterval. BuryOnWord tries until ctx ends, or the store denies the write. It returns nil once
// the session of d.Identity has ended, whoever ended it.
//
// An error that wraps ErrRefuted says that the session has changed: its member lives, or somebody edited it. Do not call
// BuryOnWord again for the same word.
func BuryOnWord(ctx context.Context, c clock.Clock, locks lock.Store, seen lock.Entry, d Death) error {
	fail := func(err error) error { return fmt.Errorf("%w: %s: %w", ErrNotBuried, seen.Name, err) }
	word, err := session.Hear(c.Now(), session.Shown(seen), d)
	if err != nil {
		return fail(err)
	}
	var why tries.Why
	for again := 0; ; again++ {
		if again > 0 && !clock.Wait(ctx, word.Pause()) {
			return fail(why.Over(ctx))
		}
		sent := c.Now()
		e, err := locks.Get(ctx, seen.Name)
		if err != nil {
			why.Failed(ctx, err)
			word.Failed()
			continue
		}
		switch heard, end, err := word.Answered(sent, c.Now(), session.Shown(e)); {
		case err != nil:
			return fail(err)
		case heard == session.Over:
			return nil
		case heard == session.PutEnd:
			switch _, err := locks.Put(ctx, seen.Name, end, word.Seen()); {
			case err == nil:
				return nil
			case errors.Is(err, lock.ErrDenied): // it would be denied again, and the caller must hear of that
				return fail(err)
			default:
				why.Failed(ctx, err)
			}
		}
	}
}
