package primacytest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Run runs a test in a bubble of virtual time, with a group of members. When test returns, the members that are left
// leave, and everything that they and the test have started must end.
func Run(t *testing.T, test func(t *testing.T, g *Group)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := Clock()
		g := &Group{t: t, clock: c, realm: memory.New(c), pins: &pins{changed: make(chan struct{})}}
		defer g.leave()
		test(t, g)
	})
}

// Clock is a clock that follows package time. In a bubble both are virtual.
func Clock() clock.Clock { return bubble{time.Now()} }

type bubble struct{ start time.Time }

// Now implements clock.Clock.
func (b bubble) Now() record.Instant { return record.Instant(time.Since(b.start)) + 1 }

// Wall implements clock.Clock.
func (b bubble) Wall() time.Time { return time.Now() }

// Group is the members of one realm in memory. Its methods, and those of its Members, must be called from the bubble of
// the test, by one goroutine.
type Group struct {
	t     *testing.T
	clock clock.Clock
	realm *memory.Realm
	pins  *pins
	all   []*Member
}

// Clock is the clock of all members.
func (g *Group) Clock() clock.Clock { return g.clock }

// Member is one Manager of the group.
type Member struct {
	// Manager is running. Elections can be added to it and removed.
	Manager *election.Manager

	g      *Group
	name   string
	store  *memory.Store
	stop   context.CancelFunc
	gone   chan struct{}
	status map[string]*election.Status
}

// Options say what a member is like. Zero fields have defaults.
type Options struct {
	// Revision is the member's revision. Default: test.
	Revision string
	// Weight is the member's weight.
	Weight int
	// Preferences says which revision should lead. Default: what Lead says. Give all members of a group the same: nothing moves
	// between members that see different preferences. Lead does not move a member that has its own.
	Preferences election.Preferences
}

// Join starts a member with one election. The name is its host's name. If its work has to be killed, or Run returns an
// error, the test fails.
func (g *Group) Join(name string, spec election.Spec, runner election.Runner) *Member {
	g.t.Helper()
	return g.JoinAs(name, Options{}, spec, runner)
}

// JoinAs is Join for a member with Options.
func (g *Group) JoinAs(name string, o Options, spec election.Spec, runner election.Runner) *Member {
	g.t.Helper()
	if o.Preferences == nil {
		o.Preferences = g.pins
	}
	m := &Member{g: g, name: name, store: g.realm.Store(), gone: make(chan struct{}), status: map[string]*election.Status{}}
	var err error
	m.Manager, err = election.NewManager(election.Config{
		Group: "primacytest", Host: name, Member: election.Member{Revision: cmp.Or(o.Revision, "test"), Weight: o.Weight},
		Locks: m.store, Clock: g.clock, Preferences: o.Preferences, Log: zaptest.NewLogger(g.t),
		Abort: func(err error) { g.t.Errorf("%s: its process would end now: %v", name, err) },
	})
	if err != nil {
		g.t.Fatal(err)
	}
	m.Add(spec, runner)
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	go func() { // joined by Leave
		defer close(m.gone)
		if err := m.Manager.Run(ctx); err != nil {
			g.t.Errorf("%s: %v", name, err)
		}
	}()
	g.all = append(g.all, m)
	return m
}

// Add makes the member take part in one more election.
func (m *Member) Add(spec election.Spec, runner election.Runner) *election.Status {
	m.g.t.Helper()
	s, err := m.Manager.Add(spec, runner)
	if err != nil {
		m.g.t.Fatalf("%s: %v", m.name, err)
	}
	m.status[spec.Name] = s
	return s
}

// Status is the member's Status of an election.
func (m *Member) Status(name string) *election.Status { return m.status[name] }

// Leave makes the member leave in good order, and returns when it has.
func (m *Member) Leave() {
	m.stop()
	<-m.gone
}

// Kill makes the member die: from now on it writes nothing, so the others find its lock held and its session without beats, and take over
// when that has lapsed. Its work cannot be killed within the process of the test. Its context ends at once, and the member is gone when it has
// returned.
func (m *Member) Kill() {
	m.Cut()
	m.stop()
	synctest.Wait()
}

func (g *Group) leave() {
	for _, m := range g.all {
		m.Leave()
	}
}

// patience is how much virtual time a transition may take.
const patience = time.Hour

// Lead moves an election to a member, as an operator's pin would, and returns when the member leads: its runner was
// called, and has done what it does without waiting.
func (g *Group) Lead(name string, to *Member) {
	g.t.Helper()
	g.pins.set(name, to.name)
	g.Until(func() bool { return to.status[name] != nil && to.status[name].IsLeader() }, "%s leads %s", to.name, name)
}

// Until lets time pass until a condition holds; it fails the test after a virtual hour. The format says what is waited
// for.
func (g *Group) Until(holds func() bool, format string, args ...any) {
	g.t.Helper()
	for end := g.clock.Now().Add(patience); ; {
		synctest.Wait()
		if holds() {
			return
		}
		if g.clock.Now() >= end {
			g.t.Fatalf("not so within %v: "+format, append([]any{patience}, args...)...)
		}
		time.Sleep(step)
	}
}

// step is how much time passes between two looks.
const step = 10 * time.Millisecond

// After lets virtual time pass, and returns when everything that was due in it has happened.
func (g *Group) After(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Steal writes another holder to the lock of an election, as a stranger could. The member that leads it loses its term
// at once.
func (g *Group) Steal(lockName string) {
	g.realm.Edit(lockName, func(o *codec.Object) {
		o.Fields.Holder, o.Fields.Transitions = "a-stranger", o.Fields.Transitions+1
		o.Fields.Acquired, o.Fields.Renewed, o.Fields.DurationSeconds = time.Now(), time.Now(), 1
	})
	synctest.Wait()
}

// errAway is what every request gets while the store is away.
var errAway = errors.New("the store is away")

// Cut takes the store away from the member until mend is called: each request and watch fails.
func (m *Member) Cut() (mend func()) {
	mended := make(chan struct{})
	ops := []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch}
	for _, op := range ops {
		m.store.On(op, func(_ context.Context, _ memory.Call, do func() error) error {
			select {
			case <-mended:
				return do()
			default:
				return errors.Join(lock.ErrUnknown, errAway)
			}
		})
	}
	m.store.CutWatches()
	return sync.OnceFunc(func() { close(mended) })
}

// pins is the source of preference: which member should lead each election.
type pins struct {
	mu      sync.Mutex
	of      pinned
	changed chan struct{}
}

func (p *pins) set(election, member string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := maps.Clone(p.of)
	if of == nil {
		of = pinned{}
	}
	of[election] = member
	p.of = of
	close(p.changed)
	p.changed = make(chan struct{})
}

// Watch implements election.Preferences.
func (p *pins) Watch(ctx context.Context, deliver func(election.Preference)) error {
	for {
		p.mu.Lock()
		of, changed := p.of, p.changed
		p.mu.Unlock()
		deliver(of)
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}
