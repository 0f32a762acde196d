package status

import (
	"cmp"
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// traits are settings that should be equal in the members of a group. Each returns a member's value,
// empty if the member does not publish it, and beside, what else the value depends on: only members with
// equal beside are compared.
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

// compare notes for each living member the traits in which it differs from most of its group, or
// for which no value is the most frequent.
func (r *Report) compare() {
	for _, t := range traits {
		type place struct{ group, beside string }
		counts := map[place]map[string]int{}
		inGroup := map[[2]string]int{} // by group and value
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
			inGroup[[2]string{m.Group, value}]++
		}
		for i := range r.Members {
			m := &r.Members[i]
			value, beside := t.of(m)
			of := counts[place{m.Group, beside}]
			if m.State != Live || value == "" || len(of) < 2 {
				continue
			}
			if !usual(of, func(value string) int { return inGroup[[2]string{m.Group, value}] }, value) {
				m.Differs = append(m.Differs, t.what)
			}
		}
	}
}

// usual says whether a value is the single most frequent one. Among values that are equally frequent, the one counts that
// is the most frequent in the whole group; if several are, it is unknown which is right.
func usual(counts map[string]int, inGroup func(string) int, value string) bool {
	more := func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(inGroup(a), inGroup(b)))
	}
	for other := range counts {
		if other != value && more(other, value) >= 0 {
			return false
		}
	}
	return true
}

// findNamesakes notes for each living member which others live that have its name. A member that crashed and came back has
// left a session that looks alive for a while, but that was never renewed after the next one began.
func (r *Report) findNamesakes() {
	for i := range r.Members {
		for j := range r.Members {
			if m, o := &r.Members[i], &r.Members[j]; i != j && m.isBeside(o) {
				m.Namesakes = append(m.Namesakes, o.Identity)
			}
		}
	}
}

// isBeside says whether both members live and have one name.
func (m *Member) isBeside(o *Member) bool {
	host := record.HostOf(m.Identity)
	return m.State == Live && o.State == Live && m.Group == o.Group && m.Identity != o.Identity && host != "" && host == record.HostOf(o.Identity) &&
		m.Renewed.After(o.Since) && o.Renewed.After(m.Since)
}
