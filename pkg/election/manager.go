package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/internal/bounded"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Manager runs the elections of one member in one realm.
type Manager struct {
	cfg       Config
	announcer announcer

	mu        sync.Mutex
	elections map[string]*entrant
	locks     map[lockName]*entrant // the election that uses each
	ids       member.ID             // the last ID that was given out
	settings  *member.Settings      // see keptLocked
	// heirs maps names to elections that wait until another one is gone.
	heirs map[string]*entrant
	// waiting maps an election that must be gone first to the heirs that wait for it.
	waiting map[*entrant][]*entrant
	// givenUp counts the elections that this member is giving up.
	givenUp int
	// leaving maps names of locks to the elections with these locks that this member is giving up.
	leaving map[string][]*entrant
	// resting maps names to forgotten elections whose work beyond their terms has not ended yet.
	resting map[string]*entrant
	// ranges maps names of elections that this member left to what it knew of their ranges: the
	// elections may come back with other locks.
	ranges map[string]*member.Ranges
	// settled are closed once no election waits, and none is being given up.
	settled  []chan struct{}
	running  bool
	finished bool
	// returned: Run has returned err. Disabled elections and Backgrounds end between finished and returned.
	returned bool
	err      error
	// free is the context of disabled elections' work; Run makes it. All runners have its values.
	free context.Context
	// news are the elections that were added or removed since the host last asked; changed has a
	// value while there are some.
	news    []*entrant
	changed chan struct{}
	// readiness has a value once an entrant became ready or unready.
	readiness chan struct{}
	// stores are indexed by the members' numbers for them, which all incarnations share. The host owns them.
	stores []lock.Store
	// objects are indexed by the members' numbers for them, as stores are. The first are those of the realm's own store.
	objects []string
	// lags is what SetLag said.
	lags *latest[string]
	// pulse shows what the host does.
	pulse pulse
	// shared is what the elections' Statuses share, and tally the counts.
	shared *shared
	tally  *tally
	// background joins the Background and Readiness of runners, and the work of disabled elections.
	background sync.WaitGroup
}

// ErrStopped: the Manager's Run has returned; it does not run twice.
var ErrStopped = errors.New("manager has stopped")

// NewManager checks the configuration and makes a Manager. It starts nothing. Its errors wrap ErrInvalid.
func NewManager(cfg Config) (*Manager, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("election manager: %w", sorted{ErrInvalid, err})
	}
	all := newShared(cfg.Clock)
	return &Manager{
		shared:    all,
		cfg:       cfg,
		stores:    []lock.Store{cfg.Locks},
		tally:     all.feed.tally,
		elections: map[string]*entrant{},
		locks:     map[lockName]*entrant{},
		heirs:     map[string]*entrant{},
		waiting:   map[*entrant][]*entrant{},
		leaving:   map[string][]*entrant{},
		resting:   map[string]*entrant{},
		ranges:    map[string]*member.Ranges{},
		changed:   make(chan struct{}, 1),
		readiness: make(chan struct{}, 1),
		lags:      newLatest(""),
	}, nil
}

// Add makes this member take part in an election. The runner works during its terms; it is nil if the
// election has no work, and only who leads matters (see Entry). Add may be called before Run and during it. The error
// wraps ErrInvalid and says what is wrong with the Spec, or wraps ErrTaken for a name or lock, or ErrStopped.
func (m *Manager) Add(spec Spec, runner Runner) (*Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.newEntrantLocked(Entry{spec, runner})
	if err != nil {
		return nil, err
	}
	if m.finished {
		return nil, fmt.Errorf("election %s: %w", e.spec.Name, ErrStopped)
	}
	if m.elections[e.spec.Name] != nil || m.heirs[e.spec.Name] != nil {
		return nil, sorted{ErrTaken, fmt.Errorf("election %s exists already", e.spec.Name)}
	}
	for _, l := range e.spec.lockNames() {
		if other := m.ownerLocked(l); other != "" {
			return nil, sorted{ErrTaken, fmt.Errorf("election %s: lock %q is already used by election %s", e.spec.Name, l.name, other)}
		}
	}
	m.heirs[e.spec.Name] = e
	m.placeLocked(e)
	return e.status, nil
}

// ownerLocked names the election that uses a lock, or will use it; empty for none.
func (m *Manager) ownerLocked(l lockName) string {
	if owner := m.locks[l]; owner != nil {
		return owner.spec.Name
	}
	for _, h := range m.heirs {
		if slices.Contains(h.spec.lockNames(), l) {
			return h.spec.Name
		}
	}
	return ""
}

// SetLag publishes, for people, why this member does not go by its configuration as it is written now, such as a
// reload that was refused; empty once it does. Others see it with the next renewal of the session. Nobody acts on it.
// It may be called at any time, by any goroutine.
func (m *Manager) SetLag(why string) { m.lags.set(why) }

// newEntrantLocked checks an Entry and makes an entrant of it.
func (m *Manager) newEntrantLocked(entry Entry) (*entrant, error) {
	m.ids++
	if err := entry.Spec.complete(&m.cfg); err != nil {
		return nil, sorted{ErrInvalid, err}
	}
	e := &entrant{spec: m.keptLocked(&entry.Spec), runner: entry.Runner, id: m.ids}
	e.status = newStatus(e.spec.Name, m.shared)
	if e.spec.Range {
		e.ranges = &member.Ranges{}
	}
	if _, tells := e.runner.(Readiness); tells {
		e.status.problem.Store(&errNotAsked) // until its runner says that it is ready
	}
	return e, nil
}

// enterLocked takes part in an election whose name and locks are free.
func (m *Manager) enterLocked(e *entrant) {
	m.elections[e.spec.Name] = e
	if e.ranges != nil {
		e.ranges = m.ranges[e.spec.Name].Next()
	}
	for _, l := range e.spec.lockNames() {
		m.locks[l] = e
	}
	if m.running {
		m.beginLocked(e)
	}
	m.noteLocked(e)
}

// beginLocked starts the runner's work beyond its terms, and the work of a disabled election. Work beyond
// terms ends when the election is forgotten, work of a disabled election before that; Run joins both.
func (m *Manager) beginLocked(e *entrant) {
	if e.spec.Disabled && e.withdraw == nil {
		m.beginDisabledLocked(e)
	}
	background, works := e.runner.(Background)
	readiness, tells := e.runner.(Readiness)
	if !works && !tells || e.beyond != nil {
		return
	}
	ctx, quit := context.WithCancel(context.WithoutCancel(m.free))
	e.beyond = &beyond{quit: quit}
	rest := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.restLocked(e)
	}
	if tells {
		e.beyond.goroutines++
		m.background.Go(func() {
			defer rest()
			m.followReadiness(ctx, e, readiness)
		})
	}
	if works {
		e.beyond.goroutines++
		m.background.Go(func() {
			defer rest()
			if err := unlessEnded(ctx, background.Background(ctx)); err != nil {
				m.cfg.Log.Warn("runner's work beyond its terms ended with an error", zap.String("election", e.spec.Name), zap.Error(err))
			}
		})
	}
}

// Lock returns the lock of a present election; false if there is no such election, or it is disabled.
func (m *Manager) Lock(election string) (LockRef, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.elections[election]
	if e == nil || e.spec.Disabled {
		return LockRef{}, false
	}
	return LockRef{Lock: e.spec.Lock, Locks: e.spec.Locks}, true
}

// Statuses returns the Status of each present election, in no order.
func (m *Manager) Statuses() []*Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Status, 0, len(m.elections))
	for _, e := range m.elections {
		all = append(all, e.status)
	}
	return all
}

// Remove gives an election up: it stops the runner, releases the lock or, if the store does not answer for a leaseDuration,
// leaves it to lapse, then tells the runner's Background, if any, to end, and leaves it to Run to join that. Do not call it in a callback
// of OnEnd, which holds up what it waits for. After these steps it returns nil. If ctx
// ends first it returns the error of ctx, and the removal goes on.
func (m *Manager) Remove(ctx context.Context, name string) error {
	m.mu.Lock()
	e := m.elections[name]
	if e == nil && m.heirs[name] == nil {
		m.mu.Unlock()
		return sorted{ErrUnknown, fmt.Errorf("no election %s", name)}
	}
	m.giveUpLocked(name, machine.ReasonRemoved)
	m.settleLocked() // it may have been the last election that waited
	m.mu.Unlock()
	if e == nil {
		return nil
	}
	select {
	case <-e.removal.left:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("removing election %s: %w", name, ctx.Err())
	}
}

func (m *Manager) forgetLocked(e *entrant) {
	if m.elections[e.spec.Name] != e {
		return
	}
	delete(m.elections, e.spec.Name)
	if e.ranges != nil {
		m.ranges[e.spec.Name] = e.ranges
	}
	m.unlockedLocked(e)
	e.end(m.cfg.Clock, m.cfg.Log)
	if e.removal != nil {
		m.gaveUpLocked(e)
	}
	if e.beyond != nil && e.beyond.goroutines > 0 {
		m.resting[e.spec.Name] = e
	} else {
		m.leftLocked(e)
	}
	m.settleLocked()
}

func (m *Manager) forget(e *entrant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetLocked(e)
}

// watchGrace is how long Run waits for Config.Preferences to return, after everything else has ended.
const watchGrace = time.Second

// Run takes part in all elections until ctx ends. Then it stops every runner, releases every lock and
// ends the session; last, it ends each runner's Background. A lock that it cannot release within a leaseDuration,
// since the store does not answer, it leaves to lapse; the log says so. It returns nil after that, or an error if the
// realm cannot be used at all. The package's doc says which calls may outlive Run if they hang. If Config.Parent dies, Run does
// the same, and returns ErrOrphaned. It runs once; a second call returns ErrStopped.
func (m *Manager) Run(ctx context.Context) (err error) {
	m.mu.Lock()
	if m.running || m.finished {
		m.mu.Unlock()
		return ErrStopped
	}
	m.running = true
	ctx, stop := m.cfg.untilOrphaned(ctx)
	defer stop()
	defer func() {
		if err == nil && errors.Is(context.Cause(ctx), ErrOrphaned) {
			err = ErrOrphaned
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.err, m.returned = err, true
	}()
	var endFree context.CancelFunc
	m.free, endFree = context.WithCancel(ctx)
	for _, e := range m.elections {
		m.beginLocked(e)
	}
	m.mu.Unlock()
	defer m.shared.feed.receivers.close() // disabled elections tell of their ends until background is over
	defer m.background.Wait()
	defer m.finish()
	defer m.pulse.rest(0)
	defer endFree()

	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	preference := newLatest[Preference](record.Prefer(""))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stopWatching()
	if m.cfg.Preferences != nil {
		preference.set(record.Preferred{State: record.PreferredNotSynced})
		wg.Go(func() {
			switch err := bounded.Call(watching, watchGrace, func() error { return m.cfg.Preferences.Watch(watching, preference.set) }); {
			case errors.Is(err, bounded.ErrLeft):
				m.cfg.Log.Error("Watch of the source of the preferred revision did not return after its context ended; its goroutine is left behind (does the source's disk answer?)",
					zap.Duration("grace", watchGrace))
			case err != nil:
				m.cfg.Log.Error("source of the preferred revision failed for good; later changes of the preference have no effect", zap.Error(err))
			}
		})
	}

	var left member.Heritage
	for {
		h := newHost(m, left)
		if again, err := h.run(ctx, preference); err != nil || !again {
			return err
		}
		left = h.member.Heritage()
		m.pulse.rest(m.cfg.Clock.Now().Add(left.Pause))
		if left.Pause > 0 && !clock.Wait(ctx, left.Pause) {
			return nil
		}
	}
}

func (m *Manager) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running, m.finished = false, true
	for _, h := range m.heirs {
		h.status.close()
	}
	clear(m.heirs)
	clear(m.waiting)
	clear(m.leaving)
	for name, e := range m.elections {
		if e.withdraw != nil {
			continue // the election is forgotten once its work has stopped
		}
		e.end(m.cfg.Clock, m.cfg.Log)
		if e.removal != nil {
			m.gaveUpLocked(e)
		}
		delete(m.elections, name)
	}
	m.settleLocked()
}

// gaveUpLocked notes that this member has given e up.
func (m *Manager) gaveUpLocked(e *entrant) {
	m.givenUp--
	close(e.removal.left)
}
