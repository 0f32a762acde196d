package election

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// placeOf is the namespace of a store that is not that of the sessions; empty if it is in none.
func (m *Manager) placeOf(s lock.Store) string {
	of := func(s lock.Store) string {
		if in, is := s.(interface{ Namespace() string }); is {
			return in.Namespace()
		}
		return ""
	}
	if place := of(s); place != of(m.cfg.Locks) {
		return place
	}
	return ""
}

// objectsOf is a number for the objects to which a store leads. All incarnations share these numbers.
func (m *Manager) objectsOf(s lock.Store) int16 {
	if s == m.cfg.Locks {
		return member.Own.Objects
	}
	told, tells := s.(lock.Teller)
	own, ownTells := m.cfg.Locks.(lock.Teller)
	if !tells || !ownTells {
		return member.UntoldObjects
	}
	if len(m.objects) == 0 {
		m.objects = []string{own.Objects()}
	}
	at := slices.Index(m.objects, told.Objects())
	if at < 0 {
		at = len(m.objects)
		m.objects = append(m.objects, told.Objects())
	}
	return int16(at) // #nosec G115 -- a few stores
}
