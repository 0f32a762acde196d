package controller_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// sight records who holds which lock, as a watch shows it.
type sight struct {
	mu      sync.Mutex
	holders map[string]string
	changed chan struct{}
	// moves counts how often each election was taken by another member than before.
	moves map[string]int
	// ready are the hosts whose members are ready.
	ready map[string]bool
}

func newSight() *sight {
	return &sight{holders: map[string]string{}, changed: make(chan struct{}), moves: map[string]int{}, ready: map[string]bool{}}
}

func (s *sight) take(e lock.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case lock.Listed:
		for _, entry := range e.List {
			s.show(entry)
		}
	case lock.Changed:
		s.show(e.Entry)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *sight) show(e lock.Entry) {
	if e.Absent() {
		return
	}
	if m := e.Record.Member; m != nil {
		s.ready[record.HostOf(m.Identity)] = m.Ready && !e.Record.Released()
	}
	if e.Record.Election == "" {
		return
	}
	name := e.Record.Election
	if e.Record.Holder != "" && s.holders[name] != e.Record.Holder {
		s.moves[name]++
	}
	s.holders[name] = e.Record.Holder
}

// await waits until ok holds for the locks.
func (s *sight) await(t *testing.T, what string, ok func(*sight) bool) {
	t.Helper()
	late := clock.NewTimer(longest).C
	for {
		s.mu.Lock()
		done, changed := ok(s), s.changed
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%s: waited in vain; led by %v", what, s.leaders())
		}
	}
}

func (s *sight) leaders() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.holders)
}

// moved returns a copy of moves.
func (s *sight) moved() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.moves)
}
