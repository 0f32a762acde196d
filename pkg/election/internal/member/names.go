package member

import (
	"maps"
	"slices"
)

// The names that a stream watches, and those that it should.

// wanted are the names of all locks of our elections; not nil, since nil means all objects.
func (s *stream) wanted() []string {
	names := slices.AppendSeq([]string{}, maps.Keys(s.byLock))
	slices.Sort(names)
	return names
}

// passing are the names to watch from now on: those that a list has just shown to pass, or all wanted.
func (s *stream) passing() []string {
	names := s.wanted()
	if !s.passed {
		return names
	}
	if tried := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(s.trial, name) }); len(tried) > 0 {
		return tried // after its list, late asks for another trial
	}
	return names
}

// late says whether an election is not in the latest list: the election was added after we requested the list, or the
// list is of other names.
func (s *stream) late() bool {
	for name, c := range s.byLock {
		if !c.listed && (c.began > s.listSent || !s.shows(name)) {
			return true
		}
	}
	return false
}
