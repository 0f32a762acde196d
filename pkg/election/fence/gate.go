package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Gate lets writes pass only while this member leads. New and For make one.
type Gate struct {
	elections []guarded
	running   running
}

// guarded is one of the elections that must be led.
type guarded struct {
	name string
	// valid is the term under which writes may pass now, or nil.
	valid func() *election.ValidTerm
	// refusal is made beforehand, since there may be very many refusals.
	refusal *NotLeadingError
}

func newGuarded(name string, valid func() *election.ValidTerm) guarded {
	return guarded{name: name, valid: valid, refusal: &NotLeadingError{Election: name, Progress: NotSent}}
}

// New makes a gate for one election, or for several: then this member must lead all of them.
// The error says that a Status is missing.
func New(statuses ...*election.Status) (*Gate, error) {
	if len(statuses) == 0 {
		return nil, errors.New("fence: a gate needs an election (give it the Status that Manager.Add returned)")
	}
	g := &Gate{}
	for i, s := range statuses {
		if s == nil {
			return nil, fmt.Errorf("fence: status %d of %d is nil (was the error of Manager.Add ignored?)", i+1, len(statuses))
		}
		g.elections = append(g.elections, newGuarded(s.Election(), s.ValidTerm))
	}
	return g, nil
}

// For makes a gate for one term: once the term is over the gate lets nothing pass, not even in a later
// term of this member. A Term that no Manager began is never valid.
func For(term election.Term) *Gate {
	return &Gate{elections: []guarded{newGuarded(term.Election, term.Valid)}}
}

// Check says whether a write may pass at this moment: nil, or a *NotLeadingError. It costs
// one Status.ValidTerm for each election. Check does not stop what you do afterwards: use Do or
// RoundTripper for what must end with the term.
func (g *Gate) Check() error {
	for i := range g.elections {
		if e := &g.elections[i]; e.valid() == nil {
			return e.refusal
		}
	}
	return nil
}

// Do calls fn if this member leads. The context that it gives fn ends when ctx does, when a term begins
// to stop, and at a term's deadline unless the term is extended. TokenOf tells fn the tokens of the
// terms. Requests with that context pass a gate under those terms only.
//
// The error is that of fn, or a *NotLeadingError: NotSent means that fn was not called, Cut
// that fn failed after its context had ended. Do returns when fn has returned, so fn must
// heed its context.
func (g *Gate) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	before, _ := ctx.Value(key{}).(*pass)
	p, err := g.enter(before)
	if err != nil {
		return err
	}
	if before != nil {
		p.under = append(p.under, before.under...) // nested in another Do: the terms of both count
	}
	g.running.begin()
	defer g.running.end()
	ctx, leave := p.bind(ctx)
	defer leave()
	if err := notBegun(ctx); err != nil {
		return err
	}
	return asCut(ctx, fn(context.WithValue(ctx, key{}, p)))
}

// pass holds the terms under which one write passed.
type pass struct {
	// ungated passes need no term.
	ungated bool
	under   []term
}

type term struct {
	of    *guarded
	token record.Token
	lasts lasts
}

// lasts is a term, or the grace of one that is over.
type lasts interface {
	OnEnd(f func(election.Stop)) (forget func())
}

// enter lets a write pass, or returns the refusal. A write within an earlier pass passes only
// under the same terms.
func (g *Gate) enter(before *pass) (*pass, error) {
	var p *pass
	for i := range g.elections {
		t, ok := g.elections[i].enter(before)
		if !ok {
			return nil, g.elections[i].refusal
		}
		if p == nil {
			p = &pass{under: make([]term, 0, len(g.elections))}
		}
		p.under = append(p.under, t)
	}
	return p, nil
}

// enter returns the term under which a write within an earlier pass may pass now.
func (e *guarded) enter(before *pass) (term, bool) {
	if grace := before.graceOf(e.name); grace != nil {
		return term{e, grace.Token, grace}, grace.Valid()
	}
	v := e.valid()
	if v == nil {
		return term{}, false
	}
	token, bound := before.tokenOf(e.name)
	return term{e, v.Token, v}, !bound || token == v.Token
}

func (p *pass) tokenOf(name string) (record.Token, bool) {
	if p == nil {
		return 0, false
	}
	for _, t := range p.under {
		if t.of.name == name {
			return t.token, true
		}
	}
	return 0, false
}

// graceOf returns the grace of the election in which Drain made the pass; nil if it did not.
func (p *pass) graceOf(name string) *election.Grace {
	if p == nil {
		return nil
	}
	for _, t := range p.under {
		if g, is := t.lasts.(*election.Grace); is && t.of.name == name {
			return g
		}
	}
	return nil
}

// bind makes a context that ends with ctx and with the first of the terms. The caller must
// call leave when the write is over.
func (p *pass) bind(ctx context.Context) (bound context.Context, leave func()) {
	bound, cancel := context.WithCancelCause(ctx)
	forget := make([]func(), len(p.under))
	for i, t := range p.under {
		forget[i] = t.lasts.OnEnd(func(why election.Stop) {
			cancel(&NotLeadingError{Election: t.of.name, Progress: Cut, Cause: &why})
		})
	}
	return bound, func() {
		for _, f := range forget {
			f()
		}
		cancel(nil)
	}
}

// notBegun returns why nothing may begin with ctx any more; nil while it has not ended.
func notBegun(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	err := context.Cause(ctx)
	if cut, ok := err.(*NotLeadingError); ok {
		return &NotLeadingError{Election: cut.Election, Progress: NotSent, Cause: cut.Cause}
	}
	return err
}

// asCut turns an error that came after the end of the term into one that says so.
func asCut(ctx context.Context, err error) error {
	var cut, already *NotLeadingError
	if err == nil || !errors.As(context.Cause(ctx), &cut) || errors.As(err, &already) {
		return err
	}
	return &NotLeadingError{Election: cut.Election, Progress: Cut, Cause: fmt.Errorf("%w: %w", cut.Cause, err)}
}

type key struct{}

// Ungated marks requests that need no leader, such as reviews of access: a gate lets them
// pass, and does not cut them. It has no effect on Do, nor on requests of fn within Do.
func Ungated(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, &pass{ungated: true})
}

// TokenOf returns the token of the election's term under which Do called a function, given
// that function's context. It returns false for any other context, and for an election that
// is not among the gate's. Stamp puts the token into an object.
func TokenOf(ctx context.Context, election string) (record.Token, bool) {
	p, _ := ctx.Value(key{}).(*pass)
	return p.tokenOf(election)
}
