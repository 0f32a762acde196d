// Package events writes Kubernetes Events about the terms of a member, on the locks of its elections.
//
// A Recorder follows the transitions of a Manager. It never holds the Manager up: if transitions come faster than Events may be written, it
// leaves some out, and logs how many transitions that were. An Event that is no warning is written 2 s after its transition, so that the API server first has time for
// the elections that move together. client-go's correlator combines Events that are alike, and limits those of
// one lock; Limit is the limit for the whole process. A member without the right to write Events writes none, and
// nothing else is different.
package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	instant "github.com/primacy-dev/primacy/pkg/election/record"
)

// Reasons of Events. They are stable: scripts select by them.
const (
	// Leading: the member began a term.
	Leading = "Leading"
	// Draining: the member ends its term, and stops the work.
	Draining = "Draining"
	// Claiming: the member took the lock from an elector that is not Primacy, and waits until that one has stopped.
	Claiming = "Claiming"
	// Lost, a warning: the member did not give up the term that it ends.
	Lost = "LeadershipLost"
	// Jeopardy, a warning: the term is not renewed, and half of the outage that it survives has passed.
	Jeopardy = "RenewalsFail"
	// FailingOpen, a warning: the term goes on only because of outage: failopen.
	FailingOpen = "FailingOpen"
	// Regained: the term was renewed after RenewalsFail.
	Regained = "RenewalsRegained"
)

// Limit says how many Events one process may write.
type Limit struct {
	// PerSecond is the rate in the long run, and Burst how many may come at once.
	PerSecond float64
	Burst     int
}

// DefaultLimit leaves the API server alone when thousands of elections move at once.
var DefaultLimit = Limit{PerSecond: 5, Burst: 50}

// Object is the lock of an election.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	// Store has the lock; its UID is read there.
	Store lock.Store
}

func (o Object) key() string { return o.Kind + "/" + o.Namespace + "/" + o.Name }

// Config is what a Recorder needs to know.
type Config struct {
	// Events writes to all namespaces.
	Events coreclient.EventsGetter
	// Object returns the lock of an election; false if there is none, or none any more.
	Object func(name string) (Object, bool)
	// Identity is the member's present identity, and Host where it runs.
	Identity func() string
	Host     string
	// Limit defaults to DefaultLimit.
	Limit Limit
	Clock clock.Clock
	Log   *zap.Logger
}

const (
	// calm is how long Events wait that are no warnings: nobody waits for them, and many elections may be moving now.
	calm = 2 * time.Second
	// patience is how long one request may take.
	patience = 5 * time.Second
	// deniedFor is how long a Recorder writes nothing after it was denied.
	deniedFor = 10 * time.Minute
	// mostUIDs limits how many locks' UIDs are kept.
	mostUIDs = 1024
	// tellAfter is how long a Recorder leaves out Events before it logs how many.
	tellAfter = 10 * time.Second
)

// Recorder writes Events. Only one goroutine may use it.
type Recorder struct {
	cfg        Config
	correlator *record.EventCorrelator
	uids       map[string]types.UID

	// pending are Events that have to be written, in the order in which they are due.
	pending []pending
	// tokens is how many Events may be written at the instant filled.
	tokens float64
	filled instant.Instant
	// number is that of the last transition; zero before the first.
	number uint64
	// leftOut counts the transitions that the limit left out, or that came while a write hung, since the instant of the first; zero for none.
	leftOut int
	since   instant.Instant
	// denied is until when nothing is written.
	denied instant.Instant
	// wrote: an Event was written; a denial after that is news.
	wrote bool
}

// New makes a Recorder.
func New(cfg Config) *Recorder {
	if cfg.Limit == (Limit{}) {
		cfg.Limit = DefaultLimit
	}
	return &Recorder{
		cfg: cfg, uids: map[string]types.UID{}, tokens: float64(cfg.Limit.Burst), filled: cfg.Clock.Now(),
		correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{Clock: correlatorClock{cfg.Clock}}),
	}
}

// correlatorClock is the correlator's clock.
type correlatorClock struct{ clock.Clock }

func (c correlatorClock) Now() time.Time                     { return c.Wall() }
func (c correlatorClock) Since(then time.Time) time.Duration { return c.Wall().Sub(then) }

// pending is a transition whose Event has to be written at the instant due.
type pending struct {
	kind, reason, message string
	of                    election.ElectionTransition
	on                    Object
	due                   instant.Instant
}

// Run writes Events until the channel of a Manager's transitions is closed, which is when the Manager's Run has returned. Then it
// writes what is left at once. Once ctx has ended it writes nothing more.
func (r *Recorder) Run(ctx context.Context, transitions <-chan election.ElectionTransition) {
	next := clock.NewTimer(calm)
	defer next.Stop()
	for {
		if at, is := r.next(); is {
			next.Reset(clock.Until(r.cfg.Clock, at))
		}
		select {
		case t, goesOn := <-transitions:
			if !goesOn {
				for len(r.pending) > 0 {
					r.writeNext(ctx)
				}
				r.tell(0)
				return
			}
			r.note(t)
		case <-next.C:
			if len(r.pending) > 0 && r.cfg.Clock.Now() >= r.pending[0].due {
				r.writeNext(ctx)
			}
			r.tell(tellAfter)
		}
	}
}

// next is when there is something to write, or to log; false for nothing.
func (r *Recorder) next() (at instant.Instant, is bool) {
	if r.leftOut > 0 {
		at, is = r.since.Add(tellAfter), true
	}
	if len(r.pending) > 0 && (!is || r.pending[0].due < at) {
		at, is = r.pending[0].due, true
	}
	return at, is
}

// note makes the Event of a transition pending, if it has one and the limit allows it.
func (r *Recorder) note(t election.ElectionTransition) {
	now := r.cfg.Clock.Now()
	if r.number > 0 && now >= r.denied {
		r.leaveOut(int(t.Number - r.number - 1)) // #nosec G115 -- a number of transitions
	}
	r.number = t.Number
	kind, reason := kindOf(t)
	if reason == "" || now < r.denied {
		return
	}
	r.tokens = min(float64(r.cfg.Limit.Burst), r.tokens+now.Sub(r.filled).Seconds()*r.cfg.Limit.PerSecond)
	r.filled = now
	if r.tokens < 1 || len(r.pending) >= r.cfg.Limit.Burst {
		r.leaveOut(1)
		return
	}
	r.tokens--
	object, ok := r.cfg.Object(t.Election)
	if !ok {
		return // it is gone
	}
	if reason == Leading || reason == Claiming { // somebody may have made the lock anew since the last term
		delete(r.uids, object.key())
	}
	p := pending{kind, reason, wording(r.cfg.Identity(), reason, t), t, object, now}
	if kind != corev1.EventTypeWarning {
		p.due = now.Add(calm)
	}
	i := len(r.pending)
	for i > 0 && p.due < r.pending[i-1].due {
		i--
	}
	r.pending = slices.Insert(r.pending, i, p)
}

// leaveOut counts transitions that have no Event.
func (r *Recorder) leaveOut(some int) {
	if r.leftOut == 0 {
		r.since = r.cfg.Clock.Now()
	}
	r.leftOut += some
}

// writeNext writes the first Event that is pending.
func (r *Recorder) writeNext(ctx context.Context) {
	next := r.pending[0]
	r.pending = slices.Delete(r.pending, 0, 1)
	if ctx.Err() != nil || r.cfg.Clock.Now() < r.denied {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := r.write(ctx, r.event(ctx, next))
	switch {
	case apierrors.IsForbidden(err):
		r.denied = r.cfg.Clock.Now().Add(deniedFor)
		if r.wrote { // else the start has said so
			r.cfg.Log.Warn("this member may not write Kubernetes Events any more", zap.Error(err))
		}
		r.wrote = false
	case err != nil && !errors.Is(err, context.Canceled):
		r.cfg.Log.Debug("a Kubernetes Event could not be written", zap.String("election", next.of.Election), zap.Error(err))
	case err == nil:
		r.wrote = true
	}
}

// tell logs how many transitions were left out, once the first is so long ago.
func (r *Recorder) tell(after time.Duration) {
	if r.leftOut == 0 || r.cfg.Clock.Now().Sub(r.since) < after {
		return
	}
	r.cfg.Log.Info("too many transitions at once: some have no Kubernetes Event", zap.Int("leftOut", r.leftOut))
	r.leftOut = 0
}

// kindOf is the type and the reason of a transition's Event; the reason is empty if it has none.
func kindOf(t election.ElectionTransition) (kind, reason string) {
	switch {
	case t.Event == election.EventRole && t.Role == election.Leading:
		return corev1.EventTypeNormal, Leading
	case t.Event == election.EventRole && t.Role == election.Draining:
		return corev1.EventTypeNormal, Draining
	case t.Event == election.EventRole && t.Role == election.Claiming:
		return corev1.EventTypeNormal, Claiming
	case t.Event == election.EventLost:
		return corev1.EventTypeWarning, Lost
	case t.Event == election.EventJeopardy:
		return corev1.EventTypeWarning, Jeopardy
	case t.Event == election.EventFailOpen:
		return corev1.EventTypeWarning, FailingOpen
	case t.Event == election.EventRegained:
		return corev1.EventTypeNormal, Regained
	}
	return "", ""
}

// wording is what an Event says of a transition.
func wording(who, reason string, t election.ElectionTransition) string {
	switch reason {
	case Leading:
		after := ""
		if t.Leaderless > 0 {
			after = fmt.Sprintf(", after %v without a leader", t.Leaderless.Round(time.Millisecond))
		}
		return fmt.Sprintf("%s leads: %s, term %d%s", who, t.Reason, t.Token, after)
	case Draining:
		return fmt.Sprintf("%s stops its work: %s, term %d", who, t.Reason, t.Token)
	case Claiming:
		return fmt.Sprintf("%s waits until the former holder, which is not Primacy, has stopped: %s", who, t.Reason)
	case Lost:
		return fmt.Sprintf("%s lost its term: %s, term %d", who, t.Reason, t.Token)
	case Jeopardy:
		return fmt.Sprintf("%s leads, but its renewals fail, term %d", who, t.Token)
	case FailingOpen:
		return fmt.Sprintf("%s works on although its renewals fail; another may work as well, term %d", who, t.Token)
	}
	return fmt.Sprintf("%s leads, and its renewals succeed again, term %d", who, t.Token)
}

func (r *Recorder) event(ctx context.Context, p pending) *corev1.Event {
	o, t := p.on, p.of
	when := metav1.NewTime(t.At)
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("%.200s.%x.%x", o.Name, t.At.UnixNano(), t.Number),
			Namespace: o.Namespace,
		},
		InvolvedObject: corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: r.uid(ctx, o)},
		Source:         corev1.EventSource{Component: "primacy", Host: r.cfg.Host},
		Type:           p.kind, Reason: p.reason, Message: p.message, Count: 1, FirstTimestamp: when, LastTimestamp: when,
		ReportingController: "primacy.dev/member", ReportingInstance: r.cfg.Host,
	}
}

// uid is the UID of a lock, by which `kubectl describe` finds its Events; empty if it cannot be read now.
func (r *Recorder) uid(ctx context.Context, o Object) types.UID {
	key := o.key()
	if known, ok := r.uids[key]; ok {
		return known
	}
	e, err := o.Store.Get(ctx, o.Name)
	if err != nil || e.Version.UID == "" {
		return ""
	}
	if len(r.uids) >= mostUIDs {
		clear(r.uids)
	}
	r.uids[key] = types.UID(e.Version.UID)
	return r.uids[key]
}

// write writes an Event, or adds it to one that is like it.
func (r *Recorder) write(ctx context.Context, e *corev1.Event) error {
	result, err := r.correlator.EventCorrelate(e)
	if err != nil || result.Skip {
		return err
	}
	to := r.cfg.Events.Events("")
	var written *corev1.Event
	if result.Event.Count > 1 {
		written, err = to.PatchWithEventNamespaceWithContext(ctx, result.Event, result.Patch)
	}
	if result.Event.Count <= 1 || apierrors.IsNotFound(err) { // an Event lives for an hour
		result.Event.ResourceVersion = ""
		written, err = to.CreateWithEventNamespaceWithContext(ctx, result.Event)
	}
	if err == nil {
		r.correlator.UpdateState(written)
	}
	return err
}
