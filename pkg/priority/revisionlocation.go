package priority

import (
	"cmp"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// RevisionLocation is the default policy, "revision-location". The preferred revision
// outranks every other one, and within any one revision a local member outranks a
// remote one. Between two revisions of which neither is preferred nobody outranks anybody,
// local or not: a lock should not guess which of them is newer.
//
// With a synced preference and a challenger that has a key, Outranks is Istio's rule for stealing.
// While the preference is not synced, nothing moves here; Istio has no such state, and keeps
// stealing by location.
type RevisionLocation struct{}

// Outranks implements Policy.
func (RevisionLocation) Outranks(challenger, holder record.Key, preferred record.Preferred) bool {
	if !synced(preferred) || absent(challenger) {
		return false
	}
	if challenger.Revision() != holder.Revision() {
		return isPreferred(challenger, preferred)
	}
	return challenger.Location() == record.Local && holder.Location() == record.Remote
}

// Order implements Policy: by preferred revision, then by location.
func (RevisionLocation) Order(a, b record.Key, preferred record.Preferred) int {
	return cmp.Or(
		first(isPreferred(a, preferred), isPreferred(b, preferred)),
		first(isLocal(a), isLocal(b)),
	)
}

func (RevisionLocation) String() string { return "revision-location" }

func synced(p record.Preferred) bool {
	return p.State == record.PreferredUnset || p.State == record.PreferredSet
}

func absent(k record.Key) bool { return k.Revision() == "" }

func isPreferred(k record.Key, p record.Preferred) bool {
	return p.State == record.PreferredSet && !absent(k) && k.Revision() == p.Revision
}

func isLocal(k record.Key) bool { return !absent(k) && k.Location() == record.Local }

// first orders whatever has a property before whatever lacks it.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
