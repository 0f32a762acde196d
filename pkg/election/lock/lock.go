package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Entry is one object as a Store showed it.
type Entry struct {
	Name string
	// Record is what the object says; nil when there is no object.
	// It is shared: nobody may write to it.
	Record *record.Record
	// Version is the handle for a Put that replaces what is shown. For an absent object it has
	// no uid, and the revision at which the Store saw the absence, if it knows one (a watch or
	// a list does, a Get does not).
	Version record.Version
}

// Absent says whether there was no object.
func (e Entry) Absent() bool { return e.Record == nil }

// Store holds the records of one realm, such as the locks and sessions in a namespace.
type Store interface {
	// Get is a consistent read: it sees every write that was answered before the Get was
	// sent. An absent object is not an error. Errors wrap one of the sentinels.
	Get(ctx context.Context, name string) (Entry, error)

	// Put writes the record if the object still has the uid and the revision of `replaces`.
	// A Version without uid, such as that of an absent Entry, means that there must be no
	// object. Put returns the version that it wrote. If the object already says the same, Put
	// returns the old version: nothing changes, and no watch sees anything. Put writes zero
	// times in the record as the present wall-clock time. Record.Rest must be that of the
	// entry replaced.
	//
	// An error that wraps a "rejected" sentinel (see Outcome) means that nothing was written
	// and never will be. Every other error, such as a time-out or a cancelled context, is an
	// unknown outcome: the write may have been committed, or may be yet. ErrAltered is one, too: an
	// answer is a success only if it shows what was sent.
	Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error)

	// Watch reports what is stored and every change to it, until ctx ends; then it
	// returns nil. It calls deliver only from the goroutine that called Watch, one call at
	// a time, in the order of the store. After a break it resumes from its last version
	// or starts over with a consistent list; it paces its retries itself. It returns an
	// error only if retrying is pointless.
	Watch(ctx context.Context, deliver func(Event)) error
}

// Remover is a Store that can remove objects. Members remove no lock.
type Remover interface {
	Store
	// Remove removes the object if it still has the uid and the revision of `is`, which are not zero. Errors
	// are those of a Put that updates.
	Remove(ctx context.Context, name string, is record.Version) error
}

// NameWatcher is a Store whose realm is shared with others, so members watch it by name.
type NameWatcher interface {
	Store
	// WatchNames is Watch for the named objects only; a list lacks all others. It keeps
	// the order of the store for each object, not between them. If the store denies some of the names, the watch may go on with
	// the others: then the list says which it denied.
	WatchNames(ctx context.Context, names []string, deliver func(Event)) error
}

// Teller is a Store that can tell which objects it leads to. A member may reach one lock by several stores, which write
// it in different ways. It must know that this is one lock. Of a Store that cannot tell, a member assumes that it leads
// to all objects of the realm, by their names.
type Teller interface {
	Store
	// Objects stands for the objects. It is the same for stores that may lead to the same ones, and different for others.
	Objects() string
}

// Event is one message of a watch.
type Event struct {
	Kind EventKind
	// Entry is what changed; for a deletion, the absence and its revision.
	Entry Entry
	// List is everything that is stored, and Revision the store's revision of that list.
	List     []Entry
	Revision uint64
	// Denied are the names that the store denies a watch by names, in order: the list, and the changes after it, say nothing of them.
	Denied []string
	// Err is why the stream broke, or why the store denies names. It wraps a sentinel.
	Err error
}

// EventKind says what an Event reports.
type EventKind int

const (
	// Changed: Entry was created, updated or deleted.
	Changed EventKind = iota + 1
	// Listing: a consistent list is about to be requested.
	Listing
	// Listed: the list has come. It replaces all that was known; an object that it lacks is absent, unless it is Denied.
	Listed
	// Resumed: a stream is open and will show every change from here on.
	Resumed
	// Progressed: no change, but the stream is alive and complete up to Revision. While a list
	// is read it means that a piece of the list has come; Revision is then zero.
	Progressed
	// Broken: the stream is cut; it shows nothing until Resumed.
	Broken
)

func (k EventKind) String() string {
	switch k {
	case Changed:
		return "changed"
	case Listing:
		return "listing"
	case Listed:
		return "listed"
	case Resumed:
		return "resumed"
	case Progressed:
		return "progressed"
	case Broken:
		return "broken"
	}
	return "unknown"
}

// Sentinels. Those that mean a rejected write are marked "rejected"; see Outcome.
var (
	// ErrConflict: the object has another version or uid (rejected).
	ErrConflict = errors.New("conflict")
	// ErrExists: a create found an object (rejected).
	ErrExists = errors.New("already exists")
	// ErrVanished: an update found no object (rejected).
	ErrVanished = errors.New("object has vanished")
	// ErrDenied: not permitted, or the realm does not exist (rejected).
	ErrDenied = errors.New("denied")
	// ErrInvalid: the store refuses the record (rejected).
	ErrInvalid = errors.New("invalid")
	// ErrThrottled: the store asks to come back later (rejected). See ThrottledError.
	ErrThrottled = errors.New("throttled")
	// ErrUnknown: it is unknown whether the write was committed.
	ErrUnknown = errors.New("outcome unknown")
	// ErrAltered: the store answered that the write is done, but it keeps another record than was
	// sent, or its old one. Only a read shows what is stored.
	ErrAltered = fmt.Errorf("%w: stored otherwise than sent", ErrUnknown)
	// ErrEnded: the store ended a stream after the time for which the stream was asked. That is no failure.
	ErrEnded = errors.New("the watch lasted as long as it was to")
)

// Outcome is the outcome of a Put.
type Outcome int

const (
	// Committed: the record is stored.
	Committed Outcome = iota + 1
	// Rejected: the record is not stored and never will be.
	Rejected
	// Unknown: the record may be stored, or may be yet.
	Unknown
)

func (o Outcome) String() string {
	switch o {
	case Committed:
		return "committed"
	case Rejected:
		return "rejected"
	case Unknown:
		return "unknown"
	}
	return "invalid"
}

// OutcomeOf returns the outcome of a Put that returned err.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Committed
	}
	for _, rejected := range []error{ErrConflict, ErrExists, ErrVanished, ErrDenied, ErrInvalid, ErrThrottled} {
		if errors.Is(err, rejected) {
			return Rejected
		}
	}
	return Unknown
}

// Kind returns one text for all errors of a Store that differ only in names, ports and times.
func Kind(err error) string {
	for _, kind := range []error{
		ErrConflict, ErrExists, ErrVanished, ErrDenied, ErrInvalid, ErrThrottled,
		ErrAltered, context.DeadlineExceeded, context.Canceled, ErrUnknown,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}

// ThrottledError wraps ErrThrottled and says how long the store asks callers to wait.
type ThrottledError struct {
	RetryAfter time.Duration
	Err        error
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("throttled for %v: %v", e.RetryAfter, e.Err)
}

// Unwrap makes errors.Is find ErrThrottled and the cause.
func (e *ThrottledError) Unwrap() []error { return []error{ErrThrottled, e.Err} }
