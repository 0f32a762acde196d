package priority

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// keys are all combinations of revision and location, and every kind of absent key.
func keys() []record.Key {
	ks := []record.Key{"", "^"}
	for _, revision := range []string{"", "default", "red", "green"} {
		for _, at := range []record.Location{record.Local, record.Remote} {
			ks = append(ks, record.NewKey(revision, at))
		}
	}
	return ks
}

// preferences are all states, including those that no source should give.
var preferences = []record.Preferred{
	{},
	{State: record.PreferredNotSynced},
	{State: record.PreferredNotSynced, Revision: "red"},
	{State: record.PreferredUnset},
	{State: record.PreferredUnset, Revision: "red"},
	{State: record.PreferredSet},
	record.Prefer("default"),
	record.Prefer("red"),
	record.Prefer("blue"),
}

// TestRelations checks that every policy keeps the promises of Policy, over all triples of keys.
func TestRelations(t *testing.T) {
	for _, p := range policies {
		for _, d := range preferences {
			t.Run(fmt.Sprintf("%v/%d %q", p, d.State, d.Revision), func(t *testing.T) {
				for _, broken := range laws(p, d) {
					t.Error(broken)
				}
			})
		}
	}
}

// laws lists the promises of Policy that do not hold while d is preferred.
func laws(p Policy, d record.Preferred) (broken []string) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	outranks := func(a, b record.Key) bool { return p.Outranks(a, b, d) }
	before := func(a, b record.Key) bool { return p.Order(a, b, d) <= 0 }
	settled := d.State == record.PreferredUnset || d.State == record.PreferredSet
	for _, a := range keys() {
		check(!outranks(a, a), "%q outranks itself", a)
		check(p.Order(a, a, d) == 0, "%q is not level with itself", a)
		for _, b := range keys() {
			check(!outranks(a, b) || settled, "%q outranks %q though nothing is synced", a, b)
			check(!outranks(a, b) || p.Order(a, b, d) < 0, "%q outranks %q and does not come before it", a, b)
			check(!outranks(a, b) || a.Revision() != "", "%q without a revision outranks %q", a, b)
			check(!outranks(a, b) || b.Revision() != "" || a.Revision() == d.Revision,
				"%q outranks %q of unknown revision without being preferred", a, b)
			check(sign(p.Order(a, b, d)) == -sign(p.Order(b, a, d)), "order of %q and %q depends on who asks", a, b)
			for _, c := range keys() {
				check(!outranks(a, b) || !outranks(b, c) || outranks(a, c), "%q outranks %q outranks %q, yet not the first the last", a, b, c)
				check(!before(a, b) || !before(b, c) || before(a, c), "%q before %q before %q, yet not the first the last", a, b, c)
			}
		}
		check(!circles(a, outranks), "%q can be outranked by a chain that leads back to it", a)
	}
	return broken
}

// circles says whether repeated steps of the relation lead from a back to a. It follows from irreflexive
// and transitive; this check does not rely on them.
func circles(a record.Key, outranks func(a, b record.Key) bool) bool {
	seen := map[record.Key]bool{}
	for next := []record.Key{a}; len(next) > 0; {
		at := next[0]
		next = next[1:]
		for _, k := range keys() {
			if !outranks(k, at) || seen[k] {
				continue
			}
			if k == a {
				return true
			}
			seen[k] = true
			next = append(next, k)
		}
	}
	return false
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// whoever makes a policy of any function.
type whoever struct {
	Policy
	outranks func(a, b record.Key) bool
	order    func(a, b record.Key) int
}

func (w whoever) Outranks(a, b record.Key, d record.Preferred) bool {
	if w.outranks == nil {
		return w.Policy.Outranks(a, b, d)
	}
	return w.outranks(a, b)
}

func (w whoever) Order(a, b record.Key, d record.Preferred) int {
	if w.order == nil {
		return w.Policy.Order(a, b, d)
	}
	return w.order(a, b)
}

// TestLawsBite gives the laws policies that break one each.
func TestLawsBite(t *testing.T) {
	red := record.Prefer("red")
	for _, tt := range []struct {
		complaint string
		policy    whoever
		preferred record.Preferred
	}{
		{"outranks itself", whoever{outranks: func(a, b record.Key) bool { return a == "red" }}, red},
		{"though nothing is synced", whoever{outranks: func(a, b record.Key) bool { return a == "red" && b == "green" }}, record.Preferred{}},
		{"does not come before it", whoever{order: func(a, b record.Key) int { return 0 }}, red},
		{"without a revision outranks", whoever{outranks: func(a, b record.Key) bool { return a == "" && b == "green" }}, red},
		{"of unknown revision", whoever{outranks: func(a, b record.Key) bool { return a == "green" && b == "" }}, red},
		{"depends on who asks", whoever{order: func(a, b record.Key) int { return -1 }}, red},
		{"yet not the first the last", whoever{outranks: func(a, b record.Key) bool {
			return a == "red" && b == "green" || a == "green" && b == "default"
		}}, red},
		{"before", whoever{order: func(a, b record.Key) int {
			if a.Revision() == b.Revision() {
				return strings.Compare(string(a), string(b))
			}
			return 0
		}}, red},
		{"leads back to it", whoever{outranks: func(a, b record.Key) bool {
			return a == "red" && b == "green" || a == "green" && b == "default" || a == "default" && b == "red"
		}}, red},
	} {
		t.Run(tt.complaint, func(t *testing.T) {
			tt.policy.Policy = RevisionLocation{}
			if broken := laws(tt.policy, tt.preferred); !strings.Contains(strings.Join(broken, "\n"), tt.complaint) {
				t.Errorf("the planted fault was not found; found instead: %q", broken)
			}
		})
	}
}

// TestOutranksLikeIstio compares with Istio's rule, stated over strings as in Istio: a challenger that
// knows its revision and place, a holder's raw key, and a default revision, of which "" means none.
func TestOutranksLikeIstio(t *testing.T) {
	steals := func(revision string, remote bool, leader, defaultRevision string) bool {
		leaderRemote := false
		if leader != "" && leader[0] == '^' {
			leaderRemote, leader = true, leader[1:]
		}
		if revision != leader && defaultRevision != "" && revision == defaultRevision {
			return true
		}
		return revision == leader && leaderRemote && !remote
	}
	for _, preferred := range preferences {
		var defaultRevision string
		switch preferred.State {
		case record.PreferredSet:
			defaultRevision = preferred.Revision
		case record.PreferredUnset:
		default:
			continue
		}
		for _, revision := range []string{"default", "red", "green"} {
			for _, remote := range []bool{false, true} {
				for _, leader := range keys() {
					at := record.Local
					if remote {
						at = record.Remote
					}
					challenger := record.NewKey(revision, at)
					want := steals(revision, remote, string(leader), defaultRevision)
					if got := (RevisionLocation{}).Outranks(challenger, leader, preferred); got != want {
						t.Errorf("%q outranks %q with %v preferred = %v, Istio says %v", challenger, leader, preferred, got, want)
					}
				}
			}
		}
	}
}

func TestOrder(t *testing.T) {
	const byLocation = "default=red=green > =^=^default=^red=^green"
	for _, tt := range []struct {
		preferred record.Preferred
		want      string // from best to worst; = joins equal ones
	}{
		{record.Prefer("red"), "red > ^red > default=green > =^=^default=^green"},
		{record.Prefer(""), byLocation},
		{record.Preferred{State: record.PreferredUnset, Revision: "red"}, byLocation},
		{record.Preferred{State: record.PreferredSet}, byLocation},
		{record.Preferred{State: record.PreferredNotSynced}, byLocation},
		{record.Preferred{State: record.PreferredNotSynced, Revision: "red"}, byLocation},
	} {
		var rank int
		ranks := map[record.Key]int{}
		for level := range strings.SplitSeq(tt.want, " > ") {
			for k := range strings.SplitSeq(level, "=") {
				ranks[record.Key(k)] = rank
			}
			rank++
		}
		for _, a := range keys() {
			for _, b := range keys() {
				if got, want := sign((RevisionLocation{}).Order(a, b, tt.preferred)), sign(ranks[a]-ranks[b]); got != want {
					t.Errorf("order of %q and %q with %v preferred = %d, want %d", a, b, tt.preferred, got, want)
				}
			}
		}
	}
}

// TestSequences plays members that arrive and leave, one by one. A member that outranks the leader leads
// next; a free lock goes to the first in order.
func TestSequences(t *testing.T) {
	for _, tt := range []struct {
		name      string
		preferred record.Preferred
		steps     string // +key arrives, -key leaves, then :leader after that
	}{
		{"no preference: remote, local of its revision, second remote", record.Prefer(""),
			"+^red:^red +red:red +^red:red"},
		{"no preference: another revision does not move it", record.Prefer(""),
			"+^red:^red +green:^red +default:^red"},
		{"preferred revision takes over, equals and others do not", record.Prefer("red"),
			"+green:green +red:red +red:red +green:red"},
		{"preferred revision leaves and returns", record.Prefer("red"),
			"+green:green +red:red +red:red -red:red -red:green +red:red"},
		{"preferred first, local second", record.Prefer("red"),
			"+^green:^green +^red:^red +red:red +^red:red"},
		{"remote of the preferred before local of another", record.Prefer("red"),
			"+green:green +^red:^red"},
		{"not synced: nothing moves", record.Preferred{State: record.PreferredNotSynced},
			"+^green:^green +red:^green +green:^green"},
		{"no key among equals", record.Prefer(""),
			"+: +red: +green: +default:"},
		{"no key yields to the preferred, once", record.Prefer("red"),
			"+: +green: +red:red +:red -red:green"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var leader record.Key
			var there []record.Key
			for step := range strings.FieldsSeq(tt.steps) {
				what, want, _ := strings.Cut(step, ":")
				who := record.Key(what[1:])
				if what[0] == '+' {
					there = append(there, who)
					if len(there) == 1 {
						leader = who
					}
				} else {
					there = slices.Delete(there, slices.Index(there, who), slices.Index(there, who)+1)
					if who == leader {
						leader = slices.MinFunc(there, func(a, b record.Key) int {
							return RevisionLocation{}.Order(a, b, tt.preferred)
						})
					}
				}
				for _, k := range there {
					if (RevisionLocation{}).Outranks(k, leader, tt.preferred) {
						leader = k
					}
				}
				if leader != record.Key(want) {
					t.Fatalf("after %s %q leads, want %q", step, leader, want)
				}
			}
		})
	}
}

// TestNone checks that no key is a reason to move under the policy "none".
func TestNone(t *testing.T) {
	for _, d := range preferences {
		for _, a := range keys() {
			for _, b := range keys() {
				if (None{}).Outranks(a, b, d) || (None{}).Order(a, b, d) != 0 {
					t.Errorf("%q and %q are not equal with %v preferred", a, b, d)
				}
			}
		}
	}
}

func TestParse(t *testing.T) {
	seen := map[string]bool{}
	for _, want := range policies {
		got, err := Parse(want.String())
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v", want, got, err)
		}
		if seen[want.String()] {
			t.Errorf("two policies are named %q", want)
		}
		seen[want.String()] = true
	}
	if _, err := Parse("strongest"); err == nil || !strings.Contains(err.Error(), `"strongest" (want one of revision-location, none, weight)`) {
		t.Errorf("Parse of an unknown name: %v", err)
	}
}
