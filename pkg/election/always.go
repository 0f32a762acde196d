package election

import (
	"context"
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

// Background is a second interface of a Runner that has work beyond its terms.
type Background interface {
	// Background does that work. The Manager calls it once, when it runs and the election was
	// added. It cancels ctx once the election's lock is released, and Background must return
	// soon after.
	Background(ctx context.Context) error
}

// Terms tells an AlwaysRunner of terms: Lead offers one, Next takes it.
type Terms struct {
	mu   sync.Mutex
	news chan struct{} // closed when something changed
	// present is the term that is on; nil while none is.
	present *Tenure
}

// NewTerms makes Terms without a term.
func NewTerms() *Terms { return &Terms{news: make(chan struct{})} }

// Tenure is a term as Next returns it to an AlwaysRunner.
type Tenure struct {
	Term

	ctx      context.Context
	terms    *Terms
	taken    bool
	finished chan struct{} // closed when its work has stopped
}

// Context is cancelled when the term's work must stop; StopOf says why, and by when.
func (t *Tenure) Context() context.Context { return t.ctx }

// Stopped says that all work of the term has stopped: the lock is not released before. Call
// it for each Tenure that Next returned; a second call does nothing.
func (t *Tenure) Stopped() {
	t.terms.mu.Lock()
	defer t.terms.mu.Unlock()
	t.stoppedLocked()
}

func (t *Tenure) stoppedLocked() {
	select {
	case <-t.finished:
	default:
		close(t.finished)
	}
}

// Next waits for a term that was not taken yet. If ctx ends first it returns the error of ctx.
// It never returns a term that had ended before the call.
func (t *Terms) Next(ctx context.Context) (*Tenure, error) {
	for {
		t.mu.Lock()
		news, p := t.news, t.present
		if p != nil && !p.taken && p.ctx.Err() == nil && ctx.Err() == nil {
			p.taken = true
			t.mu.Unlock()
			return p, nil
		}
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		}
	}
}

// Lead offers a term. It returns when ctx was cancelled and, if Next took the term, its work
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
	t.present = &Tenure{Term: term, ctx: ctx, terms: t, finished: make(chan struct{})}
	close(t.news)
	t.news = make(chan struct{})
}

// Returned says that the AlwaysRunner has returned: all work of the term that it took has
// stopped, and its next run may take the present term again.
func (t *Terms) Returned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.present
	if p == nil || !p.taken {
		return
	}
	p.stoppedLocked()
	if p.ctx.Err() == nil {
		t.tellLocked(p.ctx, p.Term)
	}
}
