package election

import (
	"context"
	"sync"
)

// AlwaysRunner is work that runs on every member, leader or not: a controller that keeps
// its caches warm and writes during its terms only. What supervises it is
// runners.Always, which makes a Runner of it.
type AlwaysRunner interface {
	// RunAlways works until ctx is cancelled, which happens when the election is given up or
	// the Manager's Run ends, never because a term does. It learns of terms from terms. It
	// returns only when all of its work has stopped.
	RunAlways(ctx context.Context, terms *Terms) error
}

// AlwaysFunc is a function as an AlwaysRunner.
type AlwaysFunc func(ctx context.Context, terms *Terms) error

// RunAlways calls f.
func (f AlwaysFunc) RunAlways(ctx context.Context, terms *Terms) error { return f(ctx, terms) }

// Background is what a Runner may be as well: it has work beyond its terms.
type Background interface {
	// Background is called once, when the Manager runs and the election was added, and
	// returns soon after ctx was cancelled: when the election's lock was let go.
	Background(ctx context.Context) error
}

// Terms is how an AlwaysRunner learns of terms. Lead gives it one, Each takes them.
type Terms struct {
	mu   sync.Mutex
	news chan struct{} // closed when something changed
	// present is the term that is on; nil while none is.
	present *presentTerm
}

// NewTerms is a feed on which no term is.
func NewTerms() *Terms { return &Terms{news: make(chan struct{})} }

// presentTerm is a term as an AlwaysRunner may take it.
type presentTerm struct {
	Term

	ctx      context.Context
	taken    bool
	finished chan struct{} // closed when its work has stopped
}

// Each calls lead for each term that begins, one at a time. It returns the error of ctx when that ends,
// or the first error of lead. lead works until its context is cancelled, and StopOf says why, and by
// when. It returns once all work of the term has stopped: the lock is not released before. Each never
// shows a term that ended before lead could be called for it.
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
			if err := t.lead(p, lead); err != nil {
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

// lead has the term's work done; that has stopped even if it panics.
func (t *Terms) lead(p *presentTerm, work func(context.Context, Term) error) error {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		p.stoppedLocked()
	}()
	return work(p.ctx, p.Term)
}

func (p *presentTerm) stoppedLocked() {
	select {
	case <-p.finished:
	default:
		close(p.finished)
	}
}

// Lead tells of a term, and returns when ctx was cancelled and the work of the term has
// stopped, if anybody took it. For those who drive an AlwaysRunner; one call at a time.
func (t *Terms) Lead(ctx context.Context, term Term) {
	t.mu.Lock()
	t.tellLocked(ctx, term)
	t.mu.Unlock()
	<-ctx.Done() // from here on nobody takes it
	t.mu.Lock()
	p := t.present // it may have been told of anew
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

// Returned takes in that the AlwaysRunner has returned: nothing of what it took is at work
// any more, and the present term is shown again to the next run.
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
