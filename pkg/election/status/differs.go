package status

import (
	"fmt"
	"maps"
	"slices"
)

// traits are what members of a group should have alike. One looks at a member and says what it
// has, empty where it does not say, and beside whom that can be compared.
var traits = []struct {
	what string
	of   func(*Member) (value, beside string)
}{
	{"leaseDuration", func(m *Member) (string, string) { return nonZero(m.LeaseSeconds, "%ds"), "" }},
	{"drift", func(m *Member) (string, string) { return nonZero(m.Drift, "%v"), "" }},
	{"version", func(m *Member) (string, string) { return m.Version, m.Revision }},
	{"elections", func(m *Member) (string, string) { return m.says.Config, m.Revision }},
	{"rules", func(m *Member) (string, string) { return m.says.Rules, m.says.Config }},
	{"timings", func(m *Member) (string, string) { return m.says.Timings, m.says.Config }},
}

func nonZero[T comparable](v T, format string) string {
	if v == *new(T) {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// compare says of each living member in what it is not as most of its group, or in what there is
// no most.
func (r *Report) compare() {
	for _, t := range traits {
		type place struct{ group, beside string }
		counts := map[place]map[string]int{}
		for i := range r.Members {
			m := &r.Members[i]
			value, beside := t.of(m)
			if m.State != Live || value == "" {
				continue
			}
			at := place{m.Group, beside}
			if counts[at] == nil {
				counts[at] = map[string]int{}
			}
			counts[at][value]++
		}
		for i := range r.Members {
			m := &r.Members[i]
			value, beside := t.of(m)
			of := counts[place{m.Group, beside}]
			if m.State != Live || value == "" || len(of) < 2 {
				continue
			}
			most := slices.Max(slices.Collect(maps.Values(of)))
			usual := 0 // how many values most have: with several nobody can tell who is right
			for _, n := range of {
				if n == most {
					usual++
				}
			}
			if of[value] != most || usual > 1 {
				m.Differs = append(m.Differs, t.what)
			}
		}
	}
}
