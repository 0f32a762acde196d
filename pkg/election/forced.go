package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/tries"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ErrNotForced is what errors of ForcedHandover wrap, those of Ask and those of Withdraw.
var ErrNotForced = errors.New("forced handover")

// ErrTermOver says that the lock is not held, or no longer, in the term that the request is for.
var ErrTermOver = errors.New("its term is over")

// ForcedHandover asks the holder of a lock to hand over to another member, whatever the holder sees of the preference
// (rule forced-handover). It writes the name of that member into the record of the holder's term, and leaves all else
// as it is. It asks nothing of another term, and nothing of a holder that is not a member of Primacy. Members of
// earlier versions do not obey; they renew the record without the name, or leave it there.
type ForcedHandover struct {
	Locks lock.Store
	// Lock is the name of the lock. Holder and Token are those of the term.
	Lock   string
	Holder string
	Token  record.Token
	// To is the identity of the member that should lead.
	To string
}

// Ask writes the request. If the lock changes meanwhile, it reads and tries again for as long as the same term holds the
// lock, and until ctx ends. An error wraps ErrTermOver if the term is over, which it may be because of the request.
//
// ours is true if this call wrote the request, or may have. If neither ours nor err is set, somebody else made the same request
// before, and only they should withdraw it. The record does not say whose request it is.
func (f ForcedHandover) Ask(ctx context.Context) (ours bool, err error) {
	return f.write(ctx, func(*record.Record) string { return f.To })
}

// Withdraw takes the request back, if it is still in the record of the term.
func (f ForcedHandover) Withdraw(ctx context.Context) error {
	_, err := f.write(ctx, func(r *record.Record) string {
		if r.HandoverTo == f.To {
			return ""
		}
		return r.HandoverTo // another one's
	})
	if errors.Is(err, ErrTermOver) {
		return nil
	}
	return err
}

// write writes another name into the record, and says whether it wrote, or may have.
func (f ForcedHandover) write(ctx context.Context, to func(*record.Record) string) (wrote bool, err error) {
	fail := func(err error) error { return fmt.Errorf("%w: %s: %w", ErrNotForced, f.Lock, err) }
	var why tries.Why
	for again := 0; ; again++ {
		if again > 0 && !clock.Wait(ctx, forcedPause) {
			return wrote, fail(why.Over(ctx))
		}
		now, err := f.Locks.Get(ctx, f.Lock)
		if err == nil {
			if err := f.refuses(now.Record); err != nil {
				return wrote, fail(err)
			}
			r := *now.Record
			if r.HandoverTo = to(now.Record); r.HandoverTo == now.Record.HandoverTo {
				return wrote, nil
			}
			_, err = f.Locks.Put(ctx, f.Lock, r, now.Version)
			wrote = wrote || lock.OutcomeOf(err) != lock.Rejected
		}
		switch {
		case err == nil:
			return wrote, nil
		case errors.Is(err, lock.ErrDenied), errors.Is(err, lock.ErrInvalid):
			return wrote, fail(err)
		}
		why.Failed(ctx, err)
	}
}

// refuses says why nothing can be asked of the holder of the record.
func (f ForcedHandover) refuses(r *record.Record) error {
	switch {
	case r == nil || r.Holder != f.Holder || r.Token != f.Token:
		return ErrTermOver
	case !record.OurForm(r.Holder) || !r.Bound():
		return errors.New("no member of Primacy is known to hold it")
	case r.Claim != nil:
		return errors.New("it is claimed from another elector, and its holder does not work yet")
	}
	return nil
}

// forcedPause is the pause between two tries.
const forcedPause = 50 * time.Millisecond
