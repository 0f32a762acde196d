package config

import (
	"strings"
	"testing"
)

func TestEnabled(t *testing.T) {
	digests := map[string]string{}
	for election, disabled := range map[string]bool{
		`{name: a}`: false, `{name: a, enabled: true}`: false, `{name: a, enabled: false}`: true,
		`{name: a, enabled: false, lock: {kind: ConfigMap, name: b, renewal: record}, scope: revision}`: true,
	} {
		c, err := scoped(t, `{revision: "1-9-0"}`, election)
		if err != nil {
			t.Errorf("%s: %v", election, err)
			continue
		}
		e := c.Elections[0]
		if e.Disabled != disabled {
			t.Errorf("%s: disabled %v", election, e.Disabled)
		}
		digests[election] = e.Digest()
		again, err := Parse("f", []byte(c.Canonical()))
		if err != nil || again.Canonical() != c.Canonical() || again.Elections[0].Digest() != e.Digest() || again.Elections[0].Disabled != disabled {
			t.Errorf("%s: the canonical form says something else: %v\n%s", election, err, c.Canonical())
		}
	}
	if digests[`{name: a}`] != digests[`{name: a, enabled: true}`] || digests[`{name: a}`] == digests[`{name: a, enabled: false}`] {
		t.Errorf("digests: %v", digests)
	}
	before, _ := scoped(t, `{revision: b}`, `{name: a}, {name: c}`)
	after, _ := scoped(t, `{revision: b}`, `{name: a, enabled: false}, {name: c, enabled: true}`)
	plan, err := NewPlan(before, after)
	if err != nil {
		t.Fatal(err)
	}
	if exchanged := plan.Named(Exchange); len(exchanged) != 1 || exchanged[0] != "a" || plan.Restarts != nil {
		t.Errorf("plan: %+v", plan)
	}
}

func TestEnabledRefusals(t *testing.T) {
	for election, want := range map[string]string{
		`{name: a, enabled: "false"}`:                       `f:5:32: elections[0].enabled: want true or false, got "false"`,
		`{name: a, enable: false}`:                          `did you mean enabled?`,
		`{name: a, enabled: false, range: true}`:            `f:5:46: elections[0].range: with enabled: false every member would have the same range (leave out one of the two)`,
		`{name: a, enabled: false, outage: failopen}`:       `f:5:47: elections[0].outage: with enabled: false no outage stops the work, so it cannot fail open (leave out one of the two)`,
		`{name: a, enabled: false}, {name: a}`:              `"a" is the name of elections[0].name in line 5 too`,
		`{name: a, enabled: false, lock: {renewal: maybe}}`: `elections[0].lock.renewal`,
	} {
		if _, err := scoped(t, `{revision: b}`, election); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", election, err, want)
		}
	}
}

// The lock from which a scoped election migrates has the name as written, without a revision. The
// default is the name of the election's lock without its revision.
func TestMigrateFromHasNoSuffix(t *testing.T) {
	for from, want := range map[string]string{"{kind: Lease}": "a", "{kind: ConfigMap, name: a}": "a", "{kind: ConfigMap, name: old}": "old"} {
		c, err := scoped(t, `{revision: b}`, `{name: a, scope: revision, lock: {migrateFrom: `+from+`}}`)
		if err != nil {
			t.Fatal(err)
		}
		if l := c.Elections[0].Lock; l.MigrateFrom.Name != want || l.Name != "a-b" {
			t.Errorf("%s: from %s to %s", from, l.MigrateFrom.Name, l.Name)
		}
	}
}

// TestMigrateFromSaysItsScope checks that an election with scope: revision does not move from a lock of another kind or namespace without
// its name.
func TestMigrateFromSaysItsScope(t *testing.T) {
	for _, from := range []string{"{kind: ConfigMap}", "{namespace: other}"} {
		_, err := scoped(t, `{revision: b}`, `{name: a, scope: revision, lock: {migrateFrom: `+from+`}}`)
		if err == nil || !strings.Contains(err.Error(), "write name: a-b if the election had scope: revision before, else name: a") {
			t.Errorf("%s: got %v", from, err)
		}
	}
}
