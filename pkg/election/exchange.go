package election

import (
	"errors"
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
)

// Entry is one election and the work to do during its terms.
type Entry struct {
	Spec Spec
	// Runner is nil where leadership itself is the product.
	Runner Runner
}

// Change is what becomes of a Manager's elections.
type Change struct {
	// Remove names elections to be given up.
	Remove []string
	// Put are elections to take part in. Where there is one of that name, it is given up, and
	// the new one takes its place.
	Put []Entry
}

// Apply changes the elections that this member takes part in. It is judged whole: with an
// error nothing has changed. The error names everything that is wrong with a Spec, every name
// or lock that is taken and every election that there is not, or wraps ErrStopped.
//
// Apply waits for nothing. An election that takes the place of another, or that has a lock of
// one that is given up, is begun once that has stopped its work, has let go its locks and has
// ended its work beyond its terms. No election waits for any other. A later change may take
// out what still waits.
func (m *Manager) Apply(c Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	heirs, err := m.judgeLocked(c)
	if err != nil {
		return err
	}
	for _, name := range c.Remove {
		m.giveUpLocked(name, machine.ReasonRemoved)
	}
	for _, e := range heirs {
		m.giveUpLocked(e.spec.Name, machine.ReasonExchanged)
		m.heirs[e.spec.Name] = e
	}
	for _, e := range heirs {
		m.placeLocked(e)
	}
	return nil
}

// Settled returns a channel that is closed once the changes so far are in force: each election
// that was given up has stopped its work and has let go its locks, and each that took a place has
// begun to take part. Later changes put that off. The end of Run closes it too.
func (m *Manager) Settled() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	settled := make(chan struct{})
	m.settled = append(m.settled, settled)
	m.settleLocked()
	return settled
}

// settleLocked tells who waits for that, if it is so.
func (m *Manager) settleLocked() {
	if len(m.heirs) > 0 || len(m.leaving) > 0 {
		return
	}
	for _, c := range m.settled {
		close(c)
	}
	m.settled = nil
}

// judgeLocked returns an entrant for each Entry that a change puts, or an error that names all
// that stands against the change.
func (m *Manager) judgeLocked(c Change) ([]*entrant, error) {
	if m.finished {
		return nil, fmt.Errorf("changing elections: %w", ErrStopped)
	}
	var errs []error
	goes := map[string]bool{}
	for _, name := range c.Remove {
		if e := m.elections[name]; m.heirs[name] == nil && (e == nil || e.removal != nil) {
			errs = append(errs, fmt.Errorf("no election %s", name))
		}
		goes[name] = true
	}
	for _, e := range c.Put {
		goes[e.Spec.Name] = true
	}
	names, locks := map[string]bool{}, map[lockName]string{}
	stay := func(s *spec) {
		names[s.Name] = true
		for _, l := range s.lockNames() {
			locks[l] = s.Name
		}
	}
	for name, e := range m.elections {
		if !goes[name] && e.removal == nil {
			stay(&e.spec)
		}
	}
	for name, e := range m.heirs {
		if !goes[name] {
			stay(&e.spec)
		}
	}
	heirs := make([]*entrant, 0, len(c.Put))
	for _, entry := range c.Put {
		e, err := m.newEntrantLocked(entry)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if names[e.spec.Name] {
			errs = append(errs, fmt.Errorf("election %s is there twice", e.spec.Name))
		}
		for _, l := range e.spec.lockNames() {
			if other := locks[l]; other != "" {
				errs = append(errs, fmt.Errorf("election %s: lock %q is that of election %s", e.spec.Name, l.name, other))
			}
		}
		stay(&e.spec)
		heirs = append(heirs, e)
	}
	return heirs, errors.Join(errs...)
}

// giveUpLocked gives up the election of that name, and the one that was to take its place.
func (m *Manager) giveUpLocked(name string, why machine.Reason) {
	if h := m.heirs[name]; h != nil {
		h.status.close()
		delete(m.heirs, name)
	}
	e := m.elections[name]
	if e == nil || e.removal != nil {
		return
	}
	e.removal = &removal{why, make(chan struct{})}
	for _, l := range e.spec.lockNames() {
		m.leaving[l.name] = append(m.leaving[l.name], e)
	}
	switch {
	case !m.running:
		m.forgetLocked(e)
		return
	case e.withdraw != nil:
		e.withdraw(errWithdrawn{why})
	}
	m.noteLocked(e)
}

// placeLocked takes part in an election, or has it wait for one that has its name or a lock.
func (m *Manager) placeLocked(e *entrant) {
	if first := m.beforeLocked(e); first != nil {
		m.waiting[first] = append(m.waiting[first], e)
		return
	}
	delete(m.heirs, e.spec.Name)
	m.enterLocked(e)
}

// beforeLocked is an election that must be gone before e begins, since it has the name or a
// lock of e; nil if there is none. A lock that is given up counts by its name alone: two stores
// may lead to one object.
func (m *Manager) beforeLocked(e *entrant) *entrant {
	if first := m.elections[e.spec.Name]; first != nil {
		return first
	}
	if first := m.resting[e.spec.Name]; first != nil {
		return first
	}
	for _, l := range e.spec.lockNames() {
		if all := m.leaving[l.name]; len(all) > 0 {
			return all[0]
		}
	}
	return nil
}

// leftLocked takes in that nothing of an election goes on any more, and places those that
// waited for it.
func (m *Manager) leftLocked(e *entrant) {
	heirs := m.waiting[e]
	delete(m.waiting, e)
	for _, h := range heirs {
		if m.heirs[h.spec.Name] == h && !m.finished { // it may have been taken out since
			m.placeLocked(h)
		}
	}
}

// unlockedLocked takes in that an election has let go its locks.
func (m *Manager) unlockedLocked(e *entrant) {
	for _, l := range e.spec.lockNames() {
		delete(m.locks, l)
		m.leaving[l.name] = slices.DeleteFunc(m.leaving[l.name], func(other *entrant) bool { return other == e })
		if len(m.leaving[l.name]) == 0 {
			delete(m.leaving, l.name)
		}
	}
}

// restLocked takes in that one of the goroutines of an election that go on beyond its terms
// has ended.
func (m *Manager) restLocked(e *entrant) {
	e.beyond.goroutines--
	if e.beyond.goroutines == 0 && m.resting[e.spec.Name] == e {
		delete(m.resting, e.spec.Name)
		m.leftLocked(e)
		m.settleLocked()
	}
}
