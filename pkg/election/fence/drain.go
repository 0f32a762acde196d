package fence

import (
	"context"
	"sync"

	"github.com/primacy-dev/primacy/pkg/election"
)

// Drain ends the work of a term behind the gate: a Runner calls it, with its own context and term, and returns
// after it. It waits until ctx has ended, and then until every function that Do called has returned. So the lock is not
// released before that, and if a function ignores its context, the process ends at the end of the grace, as
// with any runner.
//
// Then Drain calls last, if it is not nil, for what the work must write at the end of its term. Requests and Do with
// the context that last gets pass the gate for nine tenths of the time that is left: until the stopGrace is over, or
// the deadline if that is earlier. Nothing else passes. Drain does not call last if the member lost the lock, or could not renew it;
// then it returns a *NotLeadingError with the reason, else the error of last.
//
// Do not call Drain within Do.
func (g *Gate) Drain(ctx context.Context, over election.Term, last func(ctx context.Context) error) error {
	<-ctx.Done()
	g.running.wait()
	if last == nil {
		return nil
	}
	grace := over.Grace(ctx)
	if grace == nil {
		return &NotLeadingError{Election: over.Election, Progress: NotSent, Cause: context.Cause(ctx)}
	}
	of := newGuarded(over.Election, over.Valid)
	p := &pass{under: []term{{&of, over.Token, grace}}}
	ctx, leave := p.bind(context.WithoutCancel(ctx))
	defer leave()
	return asCut(ctx, last(context.WithValue(ctx, key{}, p)))
}

// running counts the functions that Do has called and that have not returned.
type running struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0; nil while nobody waits
}

func (r *running) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
}

func (r *running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n--; r.n == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// wait returns once no function is running.
func (r *running) wait() {
	r.mu.Lock()
	if r.n == 0 {
		r.mu.Unlock()
		return
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	idle := r.idle
	r.mu.Unlock()
	<-idle
}
