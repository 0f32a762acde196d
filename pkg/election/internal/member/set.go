package member

import "slices"

// set is a set with a deterministic order: it depends only on the calls of add and remove.
type set[T comparable] struct {
	list []T
	at   map[T]int // in the list
}

func (s *set[T]) has(t T) bool {
	_, has := s.at[t]
	return has
}

func (s *set[T]) add(t T) {
	if s.has(t) {
		return
	}
	if s.at == nil {
		s.at = map[T]int{}
	}
	s.at[t] = len(s.list)
	s.list = append(s.list, t)
}

// remove takes t out; the last one takes its place.
func (s *set[T]) remove(t T) {
	at, has := s.at[t]
	if !has {
		return
	}
	end := len(s.list) - 1
	last := s.list[end]
	s.list[at], s.at[last] = last, at
	clear(s.list[end:]) // for the collector
	s.list = s.list[:end]
	delete(s.at, t)
}

// all returns a copy, so the caller may add and remove while it iterates.
func (s *set[T]) all() []T { return slices.Clone(s.list) }
