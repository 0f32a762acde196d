package member

import (
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Effect is what a Member asks its host to do: Send, Watch, EndWatch, Relist, Start, Extend, Beat,
// Stop, Forgotten, Leads, Changed, Renewals, Noticed, Within or Log. The host does them in order.
type Effect interface{ effect() }

// Send: read an object from a store, or write it. The host answers with an Answered, within Timeout.
type Send struct {
	Request uint64
	Store   Store
	Name    string
	// Purpose is what a write to a lock is for; zero for one to a session.
	Purpose machine.Purpose
	// Write is nil for a read; Replaces is the version that it replaces.
	Write    *record.Record
	Replaces record.Version
	Timeout  time.Duration
}

// Watch: begin to watch a store.
type Watch struct {
	Watch uint64
	Store Store
	// Names are the objects to watch, if the store is ByName.
	Names []string
}

// EndWatch: end a watch. The host answers with a WatchEnded.
type EndWatch struct{ Watch uint64 }

// Relist: list the store of a watch while the watch goes on. The host tries until a list has passed, the watch lists by itself, or
// the watch ends. It says ListSent before each attempt, ListFailed after each that fails, and at last shows the list as an event of the
// watch. Unless the store was restored, the list is no older than what the watch has shown, and the watch shows nothing older after it.
//
// A list of Names is only a trial, whether they pass: the host says ListFailed after each attempt that fails, and ListPassed after the
// first that passes. It ends the trial with the watch, with the watch's own list, or with the next trial.
type Relist struct {
	Watch uint64
	// Names are the objects to list, if the store is ByName. Then Trial is the number of the trial; else it is zero.
	Names []string
	Trial uint64
}

// Start: begin a term, and its work if the election has some. The work must be dead at
// Deadline, unless the term is extended. The host answers with a Returned when the work is over.
type Start struct {
	ID       ID
	Token    record.Token
	Cycle    int
	Deadline record.Instant
}

// Extend: the term goes on until another deadline.
type Extend struct {
	ID       ID
	Deadline record.Instant
	// Health is how well the term's renewals do now; nil if nothing changed.
	Health *Health
	// Beats is the Since of the beats that extend the term from here on, in place of Deadline; zero if beats
	// do not extend it.
	Beats record.Instant
}

// Beat: we saw a beat of our session. All terms whose Beats equal its Since go on until its Deadline.
type Beat struct {
	// Since is when we saw the first of the beats that came without a gap.
	Since, Deadline record.Instant
	// Sent is when we sent the beat.
	Sent record.Instant
}

// Stop: end the term; its work must be dead at By.
type Stop struct {
	ID     ID
	Reason machine.Reason
	By     record.Instant
}

// Forgotten: an election that was given up is over: no work, no lock, no write is left of it.
type Forgotten struct{ ID ID }

// Leads tells who holds an election's lock.
type Leads struct {
	ID     ID
	Role   machine.Role
	Leader Leader
}

// Changed tells that this member's role has changed.
type Changed struct {
	ID     ID
	Role   machine.Role
	Reason machine.Reason
	Token  record.Token
	Cycle  int
	Leader Leader
	// Lost: a term ends although this member did not give it up.
	Lost bool
}

// Renewals tells how well the renewals of the present term do, when no Extend tells it; Health is nil
// without a term.
type Renewals struct {
	ID     ID
	Health *Health
}

// Noticed tells what became of a term's renewals.
type Noticed struct {
	ID     ID
	Notice Notice
	Role   machine.Role
}

// Within tells the range of the present term; nil while there is none.
type Within struct {
	ID    ID
	Range *Range
}

// Log is a log line.
type Log struct {
	Level   zapcore.Level
	Message string
	Fields  []zap.Field
}

func (Send) effect()      {}
func (Watch) effect()     {}
func (EndWatch) effect()  {}
func (Relist) effect()    {}
func (Start) effect()     {}
func (Extend) effect()    {}
func (Beat) effect()      {}
func (Stop) effect()      {}
func (Forgotten) effect() {}
func (Leads) effect()     {}
func (Changed) effect()   {}
func (Renewals) effect()  {}
func (Noticed) effect()   {}
func (Within) effect()    {}
func (Log) effect()       {}

// effects collects the Effects of the current step.
type effects struct{ list []Effect }

func (e *effects) add(one Effect) { e.list = append(e.list, one) }

// withdraw takes back the start of an election's work, and what extends it; false if the host knows of that start already. Input that is
// taken in together may show that we have the lock, and then that another member had it since (rule loss-is-definite). The changes
// of role are told all the same, since the lock was ours.
func (e *effects) withdraw(id ID) bool {
	starts := func(one Effect) bool {
		s, is := one.(Start)
		return is && s.ID == id
	}
	at := slices.IndexFunc(e.list, starts)
	if at < 0 {
		return false
	}
	after := slices.DeleteFunc(e.list[at:], func(one Effect) bool {
		extends, is := one.(Extend)
		return starts(one) || is && extends.ID == id
	})
	e.list = e.list[:at+len(after)]
	return true
}

// logger makes Logs.
type logger struct {
	to     *effects
	fields []zap.Field
}

func (l logger) With(fields ...zap.Field) logger {
	return logger{l.to, append(l.fields[:len(l.fields):len(l.fields)], fields...)}
}

func (l logger) Log(level zapcore.Level, message string, fields ...zap.Field) {
	l.to.add(Log{level, message, append(l.fields[:len(l.fields):len(l.fields)], fields...)})
}

func (l logger) Info(message string, fields ...zap.Field) { l.Log(zap.InfoLevel, message, fields...) }

func (l logger) Warn(message string, fields ...zap.Field) { l.Log(zap.WarnLevel, message, fields...) }

// Log messages that people look for in a simulation.
const (
	// Leaving: this member gives up everything; the field reason says why.
	Leaving = "leaving"
	// Stray: we release a lock that a late write took after its election had been given up.
	Stray = "releasing a lock that a late write took after its election had been removed"
	// Disowns: we leave locks to others because we can neither release nor use them.
	Disowns = "this member could neither release nor use some of its locks in time; it leaves them to members that can write them (failing writes that were logged before say why: the API server did not answer them, or a policy refuses them)"
	// WaitsForNew: locks were created, and nobody leads yet.
	WaitsForNew = "nobody leads these elections yet: their locks are new, and may have been deleted while somebody led by them, so members wait until that has certainly ended (bootstrap: immediate in an election takes a new lock at once; it is only for locks that nobody deletes)"
	// Silent: we begin the realm's own watch anew.
	Silent = "the watch is silent although it should show our own beats; restarting it until it shows changes again"
)
