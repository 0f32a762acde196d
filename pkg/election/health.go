package election

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/atomic"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Condition is one thing that must hold for a member to be alive, or to be ready.
type Condition struct {
	// Name is one word, such as session.
	Name string
	// Err says why the condition does not hold; nil if it does.
	Err error
}

// Check returns why a restart would help this member, or nil. It is for a liveness probe, and has the form that
// health handlers want: controller-runtime's healthz.Checker, and the Check of client-go's HealthzAdaptor. It does
// not look at the request, which may be nil. It never fails because this member follows, or because the store is
// away: a restart would help neither.
func (m *Manager) Check(*http.Request) error { return broken(m.Alive()) }

// CheckReady returns why this member could not take part in elections now, or nil. It is for a readiness probe, and
// has the form of Check. It never depends on who leads.
func (m *Manager) CheckReady(*http.Request) error { return broken(m.Ready()) }

func broken(all []Condition) error {
	var errs []error
	for _, c := range all {
		if c.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Name, c.Err))
		}
	}
	return errors.Join(errs...)
}

// Alive returns the conditions of Check:
//
//   - driver: the goroutine that steps this member takes its turns. It fails once a turn has taken, or has been
//     overdue for, a leaseDuration: by then others have taken what this member led, so a restart costs nothing.
//   - work: no work goes on after the time by which it had to be dead. Config.Abort ends the process then;
//     this shows if that failed. It fails as well while an election waits for the work beyond terms of the one whose place it takes,
//     and that has not ended within its stopGrace.
//
// Both hold before Run. After Run has returned, driver fails with ErrStopped.
func (m *Manager) Alive() []Condition {
	driver := m.driver()
	work := Condition{Name: "work"}
	if !errors.Is(driver, errStuck) { // the stuck goroutine may hold our lock
		work.Err = m.overdue()
	}
	return []Condition{{"driver", driver}, work}
}

// errStuck: the host does not take its turns.
var errStuck = errors.New("it does not take its turns")

func (m *Manager) driver() error {
	late, atMost := m.pulse.late(m.cfg.Clock.Now()), m.cfg.Timing.LeaseDuration
	if late > atMost {
		return fmt.Errorf("%w: the present one is late by %v, and %v is too long (a full disk or a blocked log may hold it up; a restart helps)", errStuck, late.Round(time.Millisecond), atMost)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.returned {
		return ErrStopped
	}
	return nil
}

// overdue names work that goes on though it must be dead.
func (m *Manager) overdue() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.cfg.Clock.Now()
	var errs []error
	for name, e := range m.elections {
		w := e.work.Load()
		if w == nil {
			continue
		}
		late := w.overdue(now)
		switch {
		case late <= 0:
		case len(errs) == mostNamed:
			return errors.Join(append(errs, errors.New("and more"))...)
		default:
			errs = append(errs, fmt.Errorf("that of election %s had to be dead %v ago (its runner does not return)", name, late.Round(time.Millisecond)))
		}
	}
	for name, e := range m.resting {
		if late := e.overdue(now); late > 0 && len(m.waiting[e]) > 0 && len(errs) < mostNamed {
			errs = append(errs, fmt.Errorf("that of election %s beyond its terms has gone on for %v after it was told to end, and the election that takes its place waits", name, late.Round(time.Millisecond)))
		}
	}
	return errors.Join(errs...)
}

// mostNamed is how many elections an error names.
const mostNamed = 10

// Ready returns the conditions of CheckReady:
//
//   - running: Run was called, and its context has not ended.
//   - synced: this member has seen all locks and sessions of the realm.
//   - preference: the source of the preferred revision has answered. Before that no planned move goes to this member.
//   - session: this member's session lives: one of its beats came back within the last leaseDuration.
func (m *Manager) Ready() []Condition {
	p := &m.pulse
	return []Condition{
		{"running", m.staying()},
		{"synced", seen(&p.listed, "locks and sessions were not listed yet")},
		{"preference", seen(&p.preferred, "the preferred revision is not known yet")},
		{"session", m.session()},
	}
}

func seen(holds *atomic.Bool, otherwise string) error {
	if holds.Load() {
		return nil
	}
	return errors.New(otherwise)
}

// staying says why this member does not take part, or will not for long.
func (m *Manager) staying() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.finished:
		return ErrStopped
	case !m.running:
		return errors.New("the manager does not run yet")
	case m.free.Err() != nil:
		return errors.New("this member leaves")
	}
	return nil
}

func (m *Manager) session() error {
	beat := record.Instant(m.pulse.beat.Load())
	if why := m.pulse.givenUp.Load(); why != "" {
		return fmt.Errorf("this member ends it, and leaves its elections: %s", why)
	}
	if beat == 0 {
		return errors.New("no beat has come back yet")
	}
	if since := m.cfg.Clock.Now().Sub(beat); since > m.cfg.Timing.LeaseDuration {
		return fmt.Errorf("its last beat that came back was sent %v ago (the log says why: is the API server reachable, are the credentials valid?)", since.Round(time.Millisecond))
	}
	return nil
}

// Identity is the identity of this member's present incarnation; empty before Run.
func (m *Manager) Identity() string { return m.pulse.identity.Load() }
