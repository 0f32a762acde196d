package fence_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestBadInput(t *testing.T) {
	for name, statuses := range map[string][]*election.Status{"none": nil, "nil": {nil}} {
		if g, err := fence.New(statuses...); err == nil || g != nil {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
	if got := closed().RoundTripper(nil).(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper(); got != http.DefaultTransport {
		t.Errorf("a nil transport is %v", got)
	}
	if err := closed().Do(t.Context(), nil); !errors.Is(err, fence.ErrNotLeading) {
		t.Errorf("Do without leading: %v", err)
	}
}

// TestRefusal checks that a refusal names the election and says what to do; its type survives net/http,
// and the gate closes the body of the request.
func TestRefusal(t *testing.T) {
	w := &wire{}
	body := &closer{Reader: strings.NewReader("{}")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://cluster/api/v1/pods", body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&http.Client{Transport: closed().RoundTripper(w)}).Do(req)
	var refused *fence.NotLeadingError
	var wrapped *url.Error
	if !errors.As(err, &wrapped) || !errors.Is(err, fence.ErrNotLeading) || !errors.As(err, &refused) {
		t.Fatalf("%v", err)
	}
	if refused.Election != "shut" || refused.Progress != fence.NotSent || !strings.Contains(err.Error(), "fence.Ungated") || wrapped.Timeout() {
		t.Errorf("%v", err)
	}
	if !body.closed || len(w.seen()) != 0 {
		t.Errorf("body closed %v, sent %v", body.closed, w.seen())
	}
}

type closer struct {
	*strings.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

// TestLeaderWrites checks that the leader's writes pass, the follower's do not; when leadership moves
// this changes with it.
func TestLeaderWrites(t *testing.T) {
	leading(t, nil, func(t *testing.T, m1 *member, realm *memory.Realm) {
		m2 := join(t, realm, m1.clock, "m2", nil, "a")
		after(10 * time.Second)
		w := &wire{}
		g1, g2 := gateOf(t, m1.status...), gateOf(t, m2.status...)
		if err1, err2 := write(t.Context(), g1, w), write(t.Context(), g2, w); err1 != nil || !errors.Is(err2, fence.ErrNotLeading) || len(w.seen()) != 1 {
			t.Errorf("leader: %v; follower: %v; sent %v", err1, err2, w.seen())
		}
		if err1, err2 := g1.Check(), g2.Check(); err1 != nil || err2 == nil {
			t.Errorf("check of the leader: %v; of the follower: %v", err1, err2)
		}
		m1.leave(t)
		m1.done <- nil // m1's work in leading ends again
		after(10 * time.Second)
		if err1, err2 := write(t.Context(), g1, w), write(t.Context(), g2, w); !errors.Is(err1, fence.ErrNotLeading) || err2 != nil || len(w.seen()) != 2 {
			t.Errorf("former leader: %v; leader: %v; sent %v", err1, err2, w.seen())
		}
		m2.leave(t)
	}, "a")
}

// TestAllMustBeLed checks that a gate over several elections passes writes only while this member leads
// all of them.
func TestAllMustBeLed(t *testing.T) {
	leading(t, nil, func(t *testing.T, m1 *member, realm *memory.Realm) {
		w := &wire{}
		m2 := join(t, realm, m1.clock, "m2", nil, "a", "b", "c")
		after(10 * time.Second)
		if !m2.status[2].IsLeader() {
			t.Fatal("m2 does not lead c")
		}
		g := gateOf(t, m1.status...)
		err := g.Do(t.Context(), func(ctx context.Context) error {
			for _, s := range m1.status {
				if token, ok := fence.TokenOf(ctx, s.Election()); !ok || token != s.Token() {
					t.Errorf("%s: token %d %v, want %d", s.Election(), token, ok, s.Token())
				}
			}
			return write(ctx, g, w)
		})
		if err != nil || len(w.seen()) != 1 {
			t.Errorf("%v, sent %v", err, w.seen())
		}
		var refused *fence.NotLeadingError
		if err := m1.Remove(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if err := write(t.Context(), g, w); !errors.As(err, &refused) || refused.Election != "b" || len(w.seen()) != 1 {
			t.Errorf("%v, sent %v", err, w.seen())
		}
		m2.leave(t)
	}, "a", "b")
}

// TestLateWritesOfAnEarlierTerm checks that a write that belongs to one term does not pass in the next
// term of the same member.
func TestLateWritesOfAnEarlierTerm(t *testing.T) {
	leading(t, nil, func(t *testing.T, m1 *member, realm *memory.Realm) {
		w := &wire{}
		g := gateOf(t, m1.status...)
		var terms []election.Term
		if _, err := m1.Add(election.Spec{Name: "r", Bootstrap: 0}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			terms = append(terms, term)
			<-ctx.Done()
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		after(20 * time.Second)
		var late context.Context
		var token record.Token
		err := g.Do(t.Context(), func(ctx context.Context) error {
			late = context.WithoutCancel(ctx)
			token, _ = fence.TokenOf(ctx, "a")
			return errors.Join(write(late, g, w), fence.For(terms[0]).Do(ctx, func(ctx context.Context) error {
				if within, ok := fence.TokenOf(ctx, "a"); !ok || within != token {
					t.Errorf("Do within Do: token %d, want %d", within, token)
				}
				return write(context.WithoutCancel(ctx), fence.For(terms[0]), w)
			}))
		})
		if err != nil || len(w.seen()) != 2 || token != m1.status[0].Token() {
			t.Fatalf("%v, sent %v, token %d", err, w.seen(), token)
		}
		realm.Delete("a")
		realm.Delete("r")
		after(5 * time.Second) // the last holder takes them again at once
		if m1.status[0].Cycle() != 2 || len(terms) != 2 || !m1.status[0].IsLeader() {
			t.Fatalf("cycle %d, %d terms", m1.status[0].Cycle(), len(terms))
		}
		for name, err := range map[string]error{
			"the context of Do":     write(late, g, w),
			"Do within Do":          g.Do(late, func(context.Context) error { return nil }),
			"the gate of a term":    write(t.Context(), fence.For(terms[0]), w),
			"Do of a term's gate":   fence.For(terms[0]).Do(t.Context(), func(context.Context) error { return nil }),
			"check by a term's own": fence.For(terms[0]).Check(),
		} {
			if !errors.Is(err, fence.ErrNotLeading) {
				t.Errorf("%s lets a late write pass: %v", name, err)
			}
		}
		if err := errors.Join(write(t.Context(), g, w), write(t.Context(), fence.For(terms[1]), w)); err != nil || len(w.seen()) != 4 {
			t.Errorf("the new term: %v, sent %v", err, w.seen())
		}
	}, "a")
}

// TestUngated checks that a request marked Ungated passes a closed gate, and that marking the context of
// Do lets neither fn nor the requests within fn pass.
func TestUngated(t *testing.T) {
	leading(t, nil, func(t *testing.T, m1 *member, _ *memory.Realm) {
		w := &wire{}
		if err := write(fence.Ungated(t.Context()), closed(), w); err != nil || len(w.seen()) != 1 {
			t.Errorf("%v, sent %v", err, w.seen())
		}
		if err := closed().Do(fence.Ungated(t.Context()), func(context.Context) error { return nil }); !errors.Is(err, fence.ErrNotLeading) {
			t.Errorf("Do: %v", err)
		}
		err := gateOf(t, m1.status...).Do(fence.Ungated(t.Context()), func(ctx context.Context) error {
			if _, ok := fence.TokenOf(ctx, "another"); ok {
				t.Error("a token of an election that is not the gate's")
			}
			return write(ctx, closed(), w)
		})
		if !errors.Is(err, fence.ErrNotLeading) || len(w.seen()) != 1 {
			t.Errorf("within Do: %v, sent %v", err, w.seen())
		}
	}, "a")
}

// TestWithinDo checks that a client without an election of its own writes only within Do, and under its terms only.
func TestWithinDo(t *testing.T) {
	leading(t, nil, func(t *testing.T, m1 *member, _ *memory.Realm) {
		w := &wire{}
		client := &http.Client{Transport: fence.WithinDo(w)}
		send := func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://cluster/api/v1/namespaces/x/configmaps", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Do(req)
			return err
		}
		if err := send(t.Context()); !errors.Is(err, fence.ErrNotLeading) {
			t.Errorf("outside: %v", err)
		}
		g := gateOf(t, m1.status...)
		var kept context.Context
		if err := g.Do(t.Context(), func(ctx context.Context) error {
			kept = context.WithoutCancel(ctx)
			return send(ctx)
		}); err != nil || len(w.seen()) != 1 {
			t.Errorf("within: %v", err)
		}
		if err := send(kept); err != nil { // the term is the same
			t.Errorf("kept: %v", err)
		}
		m1.leave(t)
		if err := send(kept); !errors.Is(err, fence.ErrNotLeading) || len(w.seen()) != 2 {
			t.Errorf("after the term: %v", err)
		}
		m1.done <- nil
	}, "a")
}

// TestRefusalsSayWhatToDo checks that a refusal warns of a gate before the locks' client, which may be where people see it first, and that
// one of a write outside every term says so.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for _, e := range []*fence.NotLeadingError{{Election: "a", Progress: fence.NotSent}, {Progress: fence.NotSent}} {
		if !strings.Contains(e.Error(), "the client of the locks must not be gated") || !errors.Is(e, fence.ErrNotLeading) {
			t.Error(e)
		}
	}
	_, err := fence.WithinDo(http.DefaultTransport).RoundTrip(httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1/api", nil))
	if err == nil || !strings.Contains(err.Error(), "not within a Reconcile") {
		t.Error(err)
	}
}
