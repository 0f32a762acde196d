package record

import "time"

// Token is the fencing number of a term. In one election every term has a higher
// token than all terms before it, also across deletion of the lock object.
// Zero means no term.
type Token uint64

// MaxToken and MaxTransitions are the highest numbers that a record may carry. Only a stranger's edit
// comes near them; a count that would exceed its maximum starts anew.
const (
	MaxToken       = 1 << 62
	MaxTransitions = 1 << 30
)

// Version is the handle of a compare-and-swap: the object's uid and the revision
// of the store at which it was last changed. The zero Version means "no object".
//
// Revisions of one store are ordered (KEP-5504); those of two kinds of object are
// never compared.
type Version struct {
	UID      string
	Revision uint64
}

// IsZero says whether the version stands for an absent object of unknown revision.
func (v Version) IsZero() bool { return v == Version{} }

// NextTransitions counts one more change of the holder.
func NextTransitions(n int) int { return n%MaxTransitions + 1 }

// Renewal says what keeps a record alive.
type Renewal string

const (
	// RenewalRecord: the holder rewrites the record itself.
	RenewalRecord Renewal = "record"
	// RenewalSession: the holder renews its session and does not write the record.
	RenewalSession Renewal = "session"
	// RenewalUnlessForeign is a setting, and no record has it: the session renews the term, unless an elector that is
	// not Primacy's ever held the lock (rule the-way-back-stays-open).
	RenewalUnlessForeign Renewal = "unlessForeign"
)

// Of is what renews the terms of a lock by the setting r. wasForeign says whether an elector that is not Primacy's
// ever held the lock.
func (r Renewal) Of(wasForeign bool) Renewal {
	switch {
	case r != RenewalUnlessForeign:
		return r
	case wasForeign:
		return RenewalRecord
	}
	return RenewalSession
}

// Record is what a lock object says, in plain data.
//
// The upper half are the fields that every elector on Kubernetes knows; the lower
// half are ours and count only while the record is Bound.
type Record struct {
	// Holder is the holder's identity; empty when nobody holds the lock.
	Holder string
	// Duration is the plain duration field, in whole seconds. A stranger may edit it:
	// rules look at Mark.Duration instead.
	Duration time.Duration
	// Acquired and Renewed are wall-clock times for people and for other electors; ranges are computed from
	// them. Nobody's validity depends on them. Zero in a write means "now".
	Acquired, Renewed time.Time
	// Transitions counts how often the holder changed to a new one.
	Transitions int

	// HolderKey is the holder's key as other electors write and read it; empty when there
	// is none. A ConfigMap always has room for it, a Lease only where its store was asked
	// to keep it. By itself it does not say who holds the lock.
	HolderKey Key

	// Mark is our annotation; nil when there is none. See Bound.
	Mark *Mark
	// Unreadable says why an annotation of ours, or a field, cannot be understood;
	// empty when all is well. An unreadable record is never Bound.
	Unreadable string
	// Token is the token of the current or last term.
	Token Token
	// HandoverTo is the successor that a drained holder nominates in its release. In the record of a held lock, it is
	// the member to which somebody asks the holder to hand over (rule forced-handover).
	HandoverTo string
	// Claim is set while the holder waits for a foreign elector to have stopped (rule claim-and-wait);
	// it counts only while the record is Bound.
	Claim *Claim
	// History tells the last transitions, newest last.
	History []Entry
	// Member is what the owner of a session publishes; nil on everything but a session. It stays after the
	// session has ended, and tells whose session it was.
	Member *Member
	// Group and Election are written as labels; Election is empty on a session.
	Group, Election string

	// Rest is the rest of the object, which the next write must preserve. It belongs to the store that made
	// it and is opaque, and read-only, to everybody else.
	Rest any
}

// Mark is the annotation primacy.dev/holder. It binds what is ours to the holder
// and transition count it was written for.
type Mark struct {
	Identity    string
	Transitions int
	Key         Key
	Weight      int32
	// Falls counts the terms in a row, up to this one, that a proved death ended within minHold of their
	// start (rule no-flapping).
	Falls int16
	// WasForeign says that an elector that is not Primacy's once held the lock, and may come back. Members of
	// earlier versions do not carry it on.
	WasForeign bool
	// Session and SessionUID name the holder's session object.
	Session, SessionUID string
	// Beat numbers the writes of one incarnation to one record. No number is used twice.
	Beat uint64
	// Duration is how long the record lasts after a beat.
	Duration time.Duration
	Renewal  Renewal
}

// Claim names the foreign holder from which a lock was taken, and which may still be at work.
// Each holder of the record copies it unchanged until the wait is over.
type Claim struct {
	Identity    string
	Transitions int
	// Duration is the foreign holder's duration at its last change.
	Duration time.Duration
}

// Entry is one line of a record's history.
type Entry struct {
	When time.Time
	Who  string
	Why  string
}

// HistoryLength is how many transitions a record remembers.
const HistoryLength = 8

// Bound says whether what is ours in the record belongs to the holder it names.
func (r *Record) Bound() bool {
	return r.Unreadable == "" && r.Mark != nil &&
		r.Mark.Identity == r.Holder && r.Mark.Transitions == r.Transitions
}

// Released says whether the record is free by our own mark: nobody holds it, and
// the annotation says so too. A claim is never free.
func (r *Record) Released() bool { return r.Holder == "" && r.Bound() && r.Claim == nil }

// Untouched says whether the record is as a create leaves it: no holder, no mark, no duration,
// no term ever. What an elector of client-go has released states a duration.
func (r *Record) Untouched() bool {
	return r.Holder == "" && r.Mark == nil && r.Unreadable == "" && r.Token == 0 && r.Transitions == 0 && r.Duration == 0
}

// ThroughSession says whether the record is kept alive by the beats of its holder's
// session. It counts only while the record is Bound.
func (r *Record) ThroughSession() bool { return r.Mark != nil && r.Mark.Renewal == RenewalSession }

// IsSession says whether the record is a member's session rather than a lock.
func (r *Record) IsSession() bool { return r.Member != nil }

// Believable says whether a time in a record may come from a clock. One of the year 9000 or later is nonsense.
func Believable(t time.Time) bool { return t.Year() < 9000 }

// RangeEnd is when the record's last range of wall-clock time ends, rounded up to a whole second;
// zero if it has none. If strangers edited the record, it is the latest possible end, but no duration counts
// for more than MaxLeaseDuration.
func (r *Record) RangeEnd() time.Time {
	end := r.Renewed
	switch {
	case end.IsZero():
		return end
	case r.Holder == "" && r.Bound():
		// Renewed says when the range ended: in a release, and in an object that was created anew, which has no
		// duration.
	case r.Bound() && r.Claim != nil:
		end = r.Acquired // nobody works under a claim
	case r.Bound() && r.ThroughSession():
		// It made no range, unless a stranger's edit says that a session renews it. Its plain duration is a year.
		end = end.Add(min(r.Mark.Duration, MaxLeaseDuration))
	case r.Mark != nil:
		end = end.Add(min(max(r.Duration, r.Mark.Duration), MaxLeaseDuration))
	default:
		end = end.Add(min(r.Duration, MaxLeaseDuration))
	}
	if whole := end.Truncate(time.Second); whole.Before(end) {
		end = whole.Add(time.Second)
	}
	return end
}
