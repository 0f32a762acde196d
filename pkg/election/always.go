package election

import (
	"cmp"
	"context"
	"errors"
	"sync"
)

// AlwaysRunner is work that runs on every member, leader or not, such as a controller that
// keeps its caches warm and writes during its terms only. runners.Always supervises it and
// makes a Runner of it.
type AlwaysRunner interface {
	// RunAlways works until ctx is cancelled: when the election is given up or the Manager's
	// Run ends, never because a term ends. The terms argument tells it of terms. It returns
	// only when all of its work has stopped.
	RunAlways(ctx context.Context, terms *Terms) error
}

// AlwaysFunc is a function as an AlwaysRunner.
type AlwaysFunc func(ctx context.Context, terms *Terms) error

// RunAlways calls f.
func (f AlwaysFunc) RunAlways(ctx context.Context, terms *Terms) error { return f(ctx, terms) }

// Background is an interface that a Runner also implements if it has work outside its terms.
type Background interface {
	// Background does the work outside the terms. The Manager calls it once, after the election was added
	// and the Manager runs. It cancels ctx once the election's lock is released, and Background must return
	// soon after: an election that takes this one's place does not begin before. After stopGrace the log says that it goes on, and
	// Manager.Alive fails if an election waits.
	Background(ctx context.Context) error
}

// Terms tells an AlwaysRunner of terms: Lead offers a term, Each takes it.
type Terms struct {
	mu   sync.Mutex
	news chan struct{} // closed when something changed
	// present is the term that is on; nil while none is.
	present *presentTerm
}

// NewTerms makes Terms without a term.
func NewTerms() *Terms { return &Terms{news: make(chan struct{})} }

// presentTerm is a term as an AlwaysRunner may take it.
type presentTerm struct {
	Term

	ctx      context.Context
	taken    bool
	finished chan struct{} // closed when its work has stopped
}

// errLeft: lead returned during its term.
var errLeft = errors.New("the work of a term returned before the term was over")

// Each calls lead for each term that begins, one at a time. When ctx ends, Each returns the error of ctx. lead works
// until its own context is cancelled, which happens at the end of the term and at the end of ctx. StopOf says why,
// and by when the work must be dead. lead must not return before all work of the term has stopped: the lock may be
// released after that. Each returns an error if lead fails, or if lead returns during its term. A lead that returns
// the error of its cancelled context has not failed. Each skips a term that ended before it could call lead.
func (t *Terms) Each(ctx context.Context, lead func(context.Context, Term) error) error {
	for {
		t.mu.Lock()
		news, p := t.news, t.present
		takes := p != nil && !p.taken && p.ctx.Err() == nil && ctx.Err() == nil
		if takes {
			p.taken = true
		}
		t.mu.Unlock()
		if takes {
			if err := t.lead(ctx, p, lead); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		}
	}
}

// lead does the work of a term, and notes its end even if the work panics.
func (t *Terms) lead(ctx context.Context, p *presentTerm, work func(context.Context, Term) error) error {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		close(p.finished)
	}()
	working, cancel := context.WithCancelCause(p.ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	err := work(working, p.Term)
	switch {
	case working.Err() == nil:
		return cmp.Or(err, errLeft)
	case errors.Is(err, working.Err()), errors.Is(err, context.Cause(working)):
		return nil // it says that it was cancelled
	}
	return err
}

// Lead offers a term. It returns when ctx was cancelled and, if Each took the term, its work
// has stopped. It is for code that drives an AlwaysRunner; one call at a time.
func (t *Terms) Lead(ctx context.Context, term Term) {
	t.mu.Lock()
	t.tellLocked(ctx, term)
	t.mu.Unlock()
	<-ctx.Done() // from here on nobody takes it
	t.mu.Lock()
	p := t.present // Returned may have offered it anew
	taken := p.taken
	t.mu.Unlock()
	if taken {
		<-p.finished
	}
	t.mu.Lock()
	t.present = nil
	t.mu.Unlock()
}

func (t *Terms) tellLocked(ctx context.Context, term Term) {
	t.present = &presentTerm{Term: term, ctx: ctx, finished: make(chan struct{})}
	close(t.news)
	t.news = make(chan struct{})
}

// Returned notes that the AlwaysRunner has returned. It waits until the lead that Each called for the present term,
// if any, has returned as well. Then the present term is offered to the next run. It is for code that drives an AlwaysRunner, which cancels
// the context of RunAlways before.
func (t *Terms) Returned() {
	t.mu.Lock()
	p := t.present
	taken := p != nil && p.taken
	t.mu.Unlock()
	if !taken {
		return
	}
	<-p.finished
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.present == p && p.ctx.Err() == nil {
		t.tellLocked(p.ctx, p.Term)
	}
}
