package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/mapstest"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// wait lets virtual time pass, then waits until all goroutines of the synctest bubble are blocked.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// stretch is one period in which a runner worked, by its own clock.
type stretch struct {
	member     string
	from, till time.Time // till is zero while the runner works
}

// journal records when the runners of the kind "work" run, by the name of their work.
type journal struct {
	mu   sync.Mutex
	work map[string][]*stretch
}

// begin records that member begins the named work, and returns a function that records its end.
func (j *journal) begin(work, member string) (end func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &stretch{member: member, from: time.Now()}
	j.work[work] = append(j.work[work], s)
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		s.till = time.Now()
	}
}

// overlaps lists each pair of stretches of the same work that overlap, and for how long.
func (j *journal) overlaps() (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	for work, all := range j.work {
		for i, a := range all {
			for _, b := range all[i+1:] {
				if shared := earlier(b, now).Sub(maxTime(a.from, b.from)); earlier(a, now).After(b.from) && shared > 0 {
					found = append(found, fmt.Sprintf("%s: %s and %s at once from %v on", work, a.member, b.member, b.from.Sub(all[0].from)))
				}
			}
		}
	}
	return found
}

func earlier(s *stretch, now time.Time) time.Time {
	if s.till.IsZero() {
		return now
	}
	return s.till
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stretches counts how often a member began the named work.
func (j *journal) stretches(work string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.work[work])
}

// workers are the members that do the named work now.
func (j *journal) workers(work string) (members []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.work[work] {
		if s.till.IsZero() {
			members = append(members, s.member)
		}
	}
	slices.Sort(members)
	return members
}

// bubble is a group of members in a synctest bubble, with virtual time: the program's own plan, reload
// and manager, over stores in memory.
type bubble struct {
	t      *testing.T
	began  time.Time
	leases *memory.Realm
	maps   *memory.Realm
	// configMaps are the ConfigMaps other than locks.
	configMaps *mapstest.Maps
	journal    *journal
	dir        string
}

func newBubble(t *testing.T) *bubble {
	c := clocktest.Bubble{}
	return &bubble{t: t, began: time.Now(), leases: memory.New(c), maps: memory.New(c), configMaps: mapstest.New(), journal: &journal{work: map[string][]*stretch{}}, dir: t.TempDir()}
}

// follower is one member that follows its configuration.
type follower struct {
	*member
	*bubble
	name   string
	path   string
	stores []*memory.Store
	// said is the document that the member took up last.
	said    string
	reloads *reloader
	stop    context.CancelFunc
	done    chan error
}

// workKind is a kind of runner that records when it works: {as: NAME, stop: DURATION}.
func (b *bubble) workKind(member string) runners.Decoder {
	return func(node *yaml.Node, env runners.Env) (election.Runner, error) {
		var block struct {
			As   string        `yaml:"as"`
			Stop time.Duration `yaml:"stop"`
			Note string        `yaml:"note"`
			// Alone: each member's work has a name of its own, so members may work at once.
			Alone bool `yaml:"alone"`
		}
		if err := strict.Decode(node, &block); err != nil {
			return nil, err
		}
		if block.As == "" {
			block.As = env.Election
		}
		if block.Alone {
			block.As += " of " + member
		}
		return election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
			defer b.journal.begin(block.As, member)()
			<-ctx.Done()
			time.Sleep(block.Stop)
			return nil
		}), nil
	}
}

const bubbleHead = "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\n"

// start runs a member with the document and command-line flags.
func (b *bubble) start(name, document string, flags ...string) *follower {
	b.t.Helper()
	f := b.prepare(name, document, flags...)
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	f.reloads = f.member.reloader()
	go func() { f.done <- f.manager.Run(ctx) }()
	return f
}

// prepare makes a member, and does not run it.
func (b *bubble) prepare(name, document string, flags ...string) *follower {
	b.t.Helper()
	f := &follower{bubble: b, name: name, path: filepath.Join(b.dir, name+".yaml"), done: make(chan error, 1)}
	if err := os.WriteFile(f.path, []byte(bubbleHead+document), 0o600); err != nil {
		b.t.Fatal(err)
	}
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.AddFlags(set)
	if err := set.Parse(append([]string{"--config", f.path}, flags...)); err != nil {
		b.t.Fatal(err)
	}
	p, err := config.LoadProcess(set)
	if err != nil {
		b.t.Fatal(err)
	}
	a := add(nil)
	a.runners.Register("work", b.workKind(name))
	log := zap.NewNop()
	if testing.Verbose() {
		log, _ = zap.NewDevelopment(zap.WithClock(bubbleZap{}), zap.WithCaller(false), zap.AddStacktrace(zap.DPanicLevel))
		log = log.Named(name)
	}
	leases, maps := b.leases.Store(), b.maps.Store()
	f.stores = []*memory.Store{leases, maps}
	locks := &stores{made: map[storeName]lock.Store{
		{kind: "Lease"}: leases, {kind: "ConfigMap"}: maps,
	}}
	f.member, _, err = wiring{
		process: p, name: name, maps: b.configMaps, clock: clocktest.Bubble{}, abort: func(err error) { b.t.Errorf("%s: aborted: %v", name, err) },
		planner: planner{runners: a.runners, sources: sourceKinds(sourceClients{core: b.configMaps}), locks: locks, namespace: "default", log: log},
	}.member(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

type bubbleZap struct{}

func (bubbleZap) Now() time.Time                       { return time.Now() }
func (bubbleZap) NewTicker(time.Duration) *time.Ticker { panic("the log writes at once") }

// reload gives the member a document, as its watch of the file would.
func (f *follower) reload(document string) error {
	f.t.Helper()
	written, err := f.process.Parse(f.path, []byte(bubbleHead+document))
	if err == nil {
		err = f.reloads.take(context.Background(), written)
	}
	return err
}

// each calls call for each of the member's stores.
func (f *follower) each(call func(*memory.Store)) {
	for _, s := range f.stores {
		call(s)
	}
}

// leave stops the member, and waits for its end.
func (f *follower) leave() {
	f.t.Helper()
	f.stop()
	if err := <-f.done; err != nil {
		f.t.Errorf("%s: Run returned %v", f.name, err)
	}
}

// end stops all members, and fails the test if two members did the same work at once.
func (b *bubble) end(all ...*follower) {
	b.t.Helper()
	for _, o := range b.journal.overlaps() {
		b.t.Error(o)
	}
	for _, f := range all {
		f.leave()
	}
}

// leaders lists the members that lead each election of the configuration, by their own account.
func leaders(all ...*follower) map[string][]string {
	found := map[string][]string{}
	for _, f := range all {
		for _, s := range f.manager.Statuses() {
			if s.IsLeader() && s.Election() != controller.ElectionName(f.process.Group) {
				found[s.Election()] = append(found[s.Election()], f.name)
			}
		}
	}
	return found
}
