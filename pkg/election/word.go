package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
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
	fail := func(err error) (time.Duration, error) {
		return 0, fmt.Errorf("%w: %s: %w", ErrNotBuried, seen.Name, err)
	}
	if seen.Record == nil {
		return fail(errors.New("it does not exist"))
	}
	if !d.Proof.IsWord() {
		return fail(fmt.Errorf("a %s's proof is no word", d.Proof))
	}
	of := witnessed(seen, d)
	if _, err := session.Bury(seen.Record, seen.Version, of); err != nil {
		return fail(err)
	}
	quiet, err = session.Quiet(seen.Record)
	if err != nil {
		return fail(err)
	}
	return quiet, nil
}

// witnessed is the death with the beat that was the session's last one when it was seen.
func witnessed(seen lock.Entry, d Death) Death {
	d.UID = seen.Version.UID
	if seen.Record.Mark != nil {
		d.Beat = seen.Record.Mark.Beat
	}
	return d
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
	quiet, err := CheckWord(seen, d)
	if err != nil {
		return err
	}
	d = witnessed(seen, d)
	fail := func(err error) error { return fmt.Errorf("%w: %s: %w", ErrNotBuried, seen.Name, err) }
	since, answered, cut := c.Now(), c.Now(), false
	var last error
	for again := 0; ; again++ {
		if again > 0 && !clock.Wait(ctx, min(wordPause, quiet/8)) {
			return fail(errors.Join(context.Cause(ctx), last))
		}
		sent := c.Now()
		e, err := locks.Get(ctx, seen.Name)
		if err != nil {
			last, cut = err, true
			continue
		}
		now := c.Now()
		if cut || now.Sub(answered) > quiet/2 {
			since = now // the store may have answered nobody until now, so the member could not beat
		}
		answered, cut = now, false
		switch {
		case e.Record == nil || e.Version.UID != seen.Version.UID:
			return fail(fmt.Errorf("%w, or somebody edits its session: it was deleted, or made anew", ErrRefuted))
		case e.Record.Bound() && e.Record.Holder != d.Identity:
			return nil
		case e.Version != seen.Version:
			return fail(changed(seen, e))
		case sent.Sub(since) < quiet:
			continue
		}
		of := d
		of.How = fmt.Sprintf("%s, and was silent for %v", d.How, sent.Sub(since).Round(time.Millisecond))
		ended, err := session.Bury(e.Record, e.Version, of)
		if err != nil {
			return fail(err)
		}
		switch _, last = locks.Put(ctx, seen.Name, ended, seen.Version); {
		case last == nil:
			return nil
		case errors.Is(last, lock.ErrDenied): // it would be denied again, and the caller must hear of that
			return fail(last)
		}
	}
}

// changed says how a session that was said to be dead has changed.
func changed(seen, now lock.Entry) error {
	beat := witnessed(now, Death{}).Beat
	if was := witnessed(seen, Death{}).Beat; beat == was {
		return fmt.Errorf("%w, or somebody edits its session: it has changed since beat %d", ErrRefuted, was)
	}
	return fmt.Errorf("%w: its beat %d has come, written at %s by its own clock", ErrRefuted, beat, now.Record.Renewed.Format(time.RFC3339))
}

// wordPause is the longest pause between two reads of a session that should be silent.
const wordPause = 250 * time.Millisecond
