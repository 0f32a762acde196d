package codec

import (
	"maps"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// TestDifference checks that Difference names each part of a record that the store changed, and ignores what
// is not ours.
func TestDifference(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sent := func() Object {
		return Object{
			Fields:      Fields{Holder: "a_01234567", DurationSeconds: 5, Acquired: at, Renewed: at, Transitions: 3},
			Annotations: map[string]string{HolderAnnotation: "{}", TokenAnnotation: "7", "example.com/note": "x"},
			Labels:      map[string]string{lock.GroupLabel: "edge", lock.ManagedByLabel: lock.ManagedBy},
		}
	}
	if d := Difference(sent(), sent()); d != "" {
		t.Errorf("the same differs: %s", d)
	}
	for _, tt := range []struct {
		want   string
		change func(*Object)
	}{
		{"", func(o *Object) { o.Annotations["example.com/other"] = "y" }},
		{"", func(o *Object) { delete(o.Annotations, "example.com/note") }},
		{"", func(o *Object) { o.Labels[lock.ManagedByLabel] = "helm" }},
		{"", func(o *Object) { o.Extra = 1 }},
		{"", func(o *Object) { o.Fields.Renewed = at.In(time.FixedZone("", 3600)) }},
		{"the holder differs", func(o *Object) { o.Fields.Holder = "" }},
		{"the holder's key differs", func(o *Object) { o.Fields.HolderKey = "k" }},
		{"the duration differs", func(o *Object) { o.Fields.DurationSeconds = 1 }},
		{"the number of transitions differs", func(o *Object) { o.Fields.Transitions++ }},
		{"the acquire time differs", func(o *Object) { o.Fields.Acquired = time.Time{} }},
		{"the renew time differs", func(o *Object) { o.Fields.Renewed = at.Add(time.Microsecond) }},
		{"a field differs", func(o *Object) { o.Fields.Problem = "x" }},
		{"annotation primacy.dev/holder is gone", func(o *Object) { delete(o.Annotations, HolderAnnotation) }},
		{"annotation primacy.dev/holder is gone", func(o *Object) { o.Annotations = nil }},
		{"annotation primacy.dev/claim is new", func(o *Object) { o.Annotations[ClaimAnnotation] = "{}" }},
		{"annotation primacy.dev/token differs", func(o *Object) { o.Annotations[TokenAnnotation] = "8" }},
		{"label primacy.dev/group is gone", func(o *Object) { delete(o.Labels, lock.GroupLabel) }},
		{"label primacy.dev/election is new", func(o *Object) { o.Labels[lock.ElectionLabel] = "e" }},
	} {
		stored := sent()
		stored.Annotations, stored.Labels = maps.Clone(stored.Annotations), maps.Clone(stored.Labels)
		tt.change(&stored)
		if d := Difference(sent(), stored); d != tt.want {
			t.Errorf("got %q, want %q", d, tt.want)
		}
	}
}
