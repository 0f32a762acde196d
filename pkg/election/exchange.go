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
	// Runner is nil if the election has no work, and only who leads matters. Then nobody waits for what the program
	// does in a term: its end releases the lock at once.
	Runner Runner
}

// Change is a change of a Manager's elections.
type Change struct {
	// Remove names elections to give up.
	Remove []string
	// Put are elections to take part in. If there is an election of the same name, it is given up, and the
	// new one takes its place.
	Put []Entry
}

// Apply changes the elections that this member takes part in: all of the Change or, with an
// error, nothing. The error names everything that is wrong with a Spec, every name or lock
// that is taken and every election that does not exist, or wraps ErrStopped.
//
// Apply does not block. An election of Put waits if its name or one of its locks is that of an election
// that is given up: it begins once that election has stopped its work, released its locks and ended its
// work beyond its terms. It waits for no other election. A later change may remove an election that still
// waits.
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
	m.settleLocked() // the change may have removed the last election that waited
	return nil
}

// Settled returns a channel that is closed once the changes so far are in force: each election
// that was given up has stopped its work and released its locks, and each new one has begun to
// take part. Later changes delay that. The end of Run closes the channel, too.
func (m *Manager) Settled() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	settled := make(chan struct{})
	m.settled = append(m.settled, settled)
	m.settleLocked()
	return settled
}

// settleLocked closes the channels of Settled if all changes are in force.
func (m *Manager) settleLocked() {
	if len(m.heirs) > 0 || m.givenUp > 0 {
		return
	}
	for _, c := range m.settled {
		close(c)
	}
	m.settled = nil
}

// judgeLocked returns an entrant for each Entry that a change puts, or an error that names
// everything that is wrong with the change.
func (m *Manager) judgeLocked(c Change) ([]*entrant, error) {
	if m.finished {
		return nil, fmt.Errorf("changing elections: %w", ErrStopped)
	}
	var errs []error
	goes := map[string]bool{}
	for _, name := range c.Remove {
		if e := m.elections[name]; m.heirs[name] == nil && (e == nil || e.removal != nil) {
			errs = append(errs, sorted{ErrUnknown, fmt.Errorf("no election %s", name)})
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
			errs = append(errs, sorted{ErrTaken, fmt.Errorf("election %s is there twice", e.spec.Name)})
		}
		for _, l := range e.spec.lockNames() {
			if other := locks[l]; other != "" {
				errs = append(errs, sorted{ErrTaken, fmt.Errorf("election %s: lock %q is already used by election %s", e.spec.Name, l.name, other)})
			}
		}
		stay(&e.spec)
		heirs = append(heirs, e)
	}
	return heirs, errors.Join(errs...)
}

// giveUpLocked gives up the named election, and the one that waits to take its place.
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
	m.givenUp++
	for _, l := range e.spec.lockNames() {
		m.leaving[l.name] = append(m.leaving[l.name], e)
	}
	switch {
	case e.withdraw != nil: // it is forgotten once its work has stopped, even if the Manager has finished by then
		e.withdraw(errWithdrawn{why})
	case !m.running:
		m.forgetLocked(e)
		return
	}
	m.noteLocked(e)
}

// placeLocked takes part in e, or makes e wait for an election that still has its name or one of its
// locks.
func (m *Manager) placeLocked(e *entrant) {
	if first := m.beforeLocked(e); first != nil {
		m.waiting[first] = append(m.waiting[first], e)
		return
	}
	delete(m.heirs, e.spec.Name)
	m.enterLocked(e)
}

// beforeLocked returns an election that must be gone before e begins, since it has the name or
// a lock of e; nil if there is none. Locks of elections that are given up are compared by name
// alone: two stores may lead to one object.
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

// leftLocked places the elections that waited for e. It is called once nothing of e goes on any more.
func (m *Manager) leftLocked(e *entrant) {
	heirs := m.waiting[e]
	delete(m.waiting, e)
	for _, h := range heirs {
		if m.heirs[h.spec.Name] == h && !m.finished { // a later change may have removed it
			m.placeLocked(h)
		}
	}
}

// unlockedLocked notes that an election has released its locks.
func (m *Manager) unlockedLocked(e *entrant) {
	for _, l := range e.spec.lockNames() {
		delete(m.locks, l)
		m.leaving[l.name] = slices.DeleteFunc(m.leaving[l.name], func(other *entrant) bool { return other == e })
		if len(m.leaving[l.name]) == 0 {
			delete(m.leaving, l.name)
		}
	}
}

// restLocked notes that one of the goroutines of e.beyond has ended.
func (m *Manager) restLocked(e *entrant) {
	e.beyond.goroutines--
	if e.beyond.goroutines == 0 && e.beyond.late != nil {
		e.beyond.late.Stop()
	}
	if e.beyond.goroutines == 0 && m.resting[e.spec.Name] == e {
		delete(m.resting, e.spec.Name)
		m.leftLocked(e)
		m.settleLocked()
	}
}
