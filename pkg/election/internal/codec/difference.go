package codec

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// Difference says, in a few words, the first thing in which the stored object differs from the one that we
// sent; empty if there is none. It ignores what a Record has no field for.
func Difference(sent, stored Object) string {
	a, b := sent.Fields, stored.Fields
	for _, f := range []struct {
		name string
		same bool
	}{
		{"the holder", a.Holder == b.Holder},
		{"the holder's key", a.HolderKey == b.HolderKey},
		{"the duration", a.DurationSeconds == b.DurationSeconds},
		{"the number of transitions", a.Transitions == b.Transitions},
		{"the acquire time", a.Acquired.Equal(b.Acquired)},
		{"the renew time", a.Renewed.Equal(b.Renewed)},
		{"a field", a.Problem == b.Problem},
	} {
		if !f.same {
			return f.name + " differs"
		}
	}
	if d := difference("annotation", ownAnnotations, sent.Annotations, stored.Annotations); d != "" {
		return d
	}
	return difference("label", []string{lock.GroupLabel, lock.ElectionLabel}, sent.Labels, stored.Labels)
}

func difference(what string, keys []string, sent, stored map[string]string) string {
	for _, key := range keys {
		was, wanted := sent[key]
		is, found := stored[key]
		switch {
		case wanted && !found:
			return fmt.Sprintf("%s %s is gone", what, key)
		case !wanted && found:
			return fmt.Sprintf("%s %s is new", what, key)
		case was != is:
			return fmt.Sprintf("%s %s differs", what, key)
		}
	}
	return ""
}
