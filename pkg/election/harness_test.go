package election_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// span is one stretch of work, by the runner's own clock.
type span struct {
	member     string
	token      record.Token
	from, till time.Time
}

// judge finds out whether two runners of one election ever worked at once.
type judge struct {
	mu    sync.Mutex
	spans map[string][]*span
	begun chan string // the member whose work begins, for each stretch
}

func newJudge() *judge {
	return &judge{spans: map[string][]*span{}, begun: make(chan string, 1024)}
}

// runner works from its call until it is told to stop, and for stopTime longer.
func (j *judge) runner(member string, stopTime time.Duration) election.Runner {
	return election.RunnerFunc(func(ctx context.Context, t election.Term) error {
		s := &span{member: member, token: t.Token, from: time.Now()}
		j.mu.Lock()
		j.spans[t.Election] = append(j.spans[t.Election], s)
		j.mu.Unlock()
		j.begun <- member
		<-ctx.Done()
		time.Sleep(stopTime)
		j.mu.Lock()
		s.till = time.Now()
		j.mu.Unlock()
		return nil
	})
}

// overlaps lists every pair of spans of one election that share a moment, and every
// token that did not rise.
func (j *judge) overlaps() []string { return append(j.overlapsOnly(), j.falling()...) }

// overlapsOnly lists every pair of spans of one election that share a moment.
func (j *judge) overlapsOnly() []string {
	return j.pairs(func(e string, a, b *span) string {
		if (a.till.IsZero() || b.from.Before(a.till)) && (b.till.IsZero() || a.from.Before(b.till)) {
			return fmt.Sprintf("%s: %s (term %d) and %s (term %d) at once", e, a.member, a.token, b.member, b.token)
		}
		return ""
	})
}

// falling lists every token that did not rise.
func (j *judge) falling() []string {
	return j.pairs(func(e string, a, b *span) string {
		if b.token <= a.token {
			return fmt.Sprintf("%s: token %d of %s after %d of %s", e, b.token, b.member, a.token, a.member)
		}
		return ""
	})
}

// pairs lists what is wrong with pairs of spans of one election, the earlier one first.
func (j *judge) pairs(wrong func(election string, a, b *span) string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []string
	for e, spans := range j.spans {
		for i, a := range spans {
			for _, b := range spans[i+1:] {
				if w := wrong(e, a, b); w != "" {
					found = append(found, w)
				}
			}
		}
	}
	return found
}

func (j *judge) terms() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, s := range j.spans {
		n += len(s)
	}
	return n
}

// allWith says whether the last work that began in each of n elections belongs to one of the members.
func (j *judge) allWith(elections int, among []*member) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.spans) < elections {
		return false
	}
	for _, spans := range j.spans {
		last := spans[len(spans)-1].member
		if !slices.ContainsFunc(among, func(m *member) bool { return m.name == last }) {
			return false
		}
	}
	return true
}

// begunSince is how long after an instant each later work began.
func (j *judge) begunSince(at time.Time) (took []time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, spans := range j.spans {
		for _, s := range spans {
			if s.from.After(at) {
				took = append(took, s.from.Sub(at))
			}
		}
	}
	return took
}

// gaps lists how long nobody worked between consecutive terms of an election.
func (j *judge) gaps() (all []time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, spans := range j.spans {
		for i, s := range spans[1:] {
			all = append(all, s.from.Sub(spans[i].till))
		}
	}
	return all
}

// prefs is a source of the preferred revision that a test sets.
type prefs struct{ values chan election.Preference }

func newPrefs(first election.Preference) *prefs {
	p := &prefs{values: make(chan election.Preference, 16)}
	p.values <- first
	return p
}

func (p *prefs) Watch(ctx context.Context, deliver func(election.Preference)) error {
	for {
		select {
		case v := <-p.values:
			deliver(v)
		case <-ctx.Done():
			return nil
		}
	}
}

// member is one running manager of a test.
type member struct {
	name    string
	manager *election.Manager
	store   *memory.Store
	status  map[string]*election.Status
	prefs   *prefs
	stop    context.CancelFunc
	done    chan error
	aborted chan error
}

type group struct {
	t     *testing.T
	clock clocktest.Bubble
	realm *memory.Realm
	judge *judge
	names []string // elections
	stop  time.Duration
	bend  func(*election.Config, *election.Spec)
	// renewal says how a member renews an election; nil for the default.
	renewal func(member, election string) record.Renewal
	// differ changes single elections.
	differ func(*election.Spec)
}

func newGroup(t *testing.T, elections ...string) *group {
	c := clocktest.Bubble{}
	return &group{t: t, clock: c, realm: memory.New(c), judge: newJudge(), names: elections}
}

// byRecord makes every member renew its locks one by one.
func (g *group) byRecord() *group {
	g.renewal = func(string, string) record.Renewal { return record.RenewalRecord }
	return g
}

// join starts a member of the revision.
func (g *group) join(name, revision string, preferred election.Preference) *member {
	g.t.Helper()
	m := &member{name: name, store: g.realm.Store(), status: map[string]*election.Status{}, prefs: newPrefs(preferred), done: make(chan error, 1), aborted: make(chan error, 1)}
	cfg := election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: revision}, Locks: m.store,
		Preferences: m.prefs, Clock: g.clock, Log: zap.NewNop(),
		Abort: func(err error) {
			select {
			case m.aborted <- err:
			default: // one is enough to know
			}
		},
	}
	if testing.Verbose() {
		cfg.Log, _ = zap.NewDevelopment(zap.WithClock(zapClock{}), zap.WithCaller(false), zap.AddStacktrace(zap.DPanicLevel))
	}
	var spec election.Spec
	if g.bend != nil {
		g.bend(&cfg, &spec)
	}
	manager, err := election.NewManager(cfg)
	if err != nil {
		g.t.Fatal(err)
	}
	m.manager = manager
	for _, e := range g.names {
		spec.Name, spec.Lock = e, ""
		if g.renewal != nil {
			spec.Renewal = g.renewal(name, e)
		}
		spec := spec
		if g.differ != nil {
			g.differ(&spec)
		}
		m.status[e], err = manager.Add(spec, g.judge.runner(name, g.stop))
		if err != nil {
			g.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go func() {
		if c, held := cfg.Clock.(*heldClock); held {
			c.drive()
		}
		m.done <- manager.Run(ctx)
	}()
	return m
}

type zapClock struct{}

func (zapClock) Now() time.Time                       { return time.Now() }
func (zapClock) NewTicker(time.Duration) *time.Ticker { panic("the log writes at once") }

// end lets the members leave, one after the other, and reports where two worked at once.
func (g *group) end(members ...*member) {
	g.t.Helper()
	for _, m := range members {
		m.leave(g.t)
	}
	for _, o := range g.judge.overlaps() {
		g.t.Error(o)
	}
}

// leave stops the member and waits until it is gone.
func (m *member) leave(t *testing.T) {
	t.Helper()
	m.stop()
	if err := <-m.done; err != nil {
		t.Errorf("%s: Run returned %v", m.name, err)
	}
}

// leaders says who leads each election, as the members report it.
func leaders(members ...*member) map[string][]string {
	found := map[string][]string{}
	for _, m := range members {
		for e, s := range m.status {
			if s.IsLeader() {
				found[e] = append(found[e], m.name)
			}
		}
	}
	return found
}

// after waits until virtual time has passed and everything due in it has happened.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// holdingUp is a log that sometimes holds its writer up, so that inputs pile up: the driver then handles
// them at once.
func holdingUp(random *rand.Rand) *zap.Logger {
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel),
		zap.Hooks(func(zapcore.Entry) error {
			if random.IntN(20) == 0 {
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
			}
			return nil
		}))
}
