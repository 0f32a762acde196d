package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// TestManagerTakesWhatIsValid checks that the manager accepts what validate accepts, up to the longest names.
func TestManagerTakesWhatIsValid(t *testing.T) {
	label, object := strings.Repeat("a", 63), strings.TrimSuffix(strings.Repeat(strings.Repeat("b", 62)+".", 4), ".")
	c, err := config.Parse("longest.yaml", fmt.Appendf(nil, `
apiVersion: primacy.dev/v1alpha1
kind: PrimacyConfiguration
group: %[1]s
member: {revision: %[1]s, location: remote, weight: 0}
defaultRevision: %[1]s
timing: {profile: single-node}
elections:
- name: %[1]s
  lock: {name: %[2]s}
  priority: {policy: none}
- name: chained
  lock: {sharedWith: istio}
  priority: {chain: [preferred, location, weight]}
- name: with.dots
  bootstrap: immediate
  timing: {leaseDuration: 1s, renewInterval: 100ms, stopGrace: 1ms}
  runners:
  - name: %[1]s
    func: {kind: demo.heartbeat}
`, label, object))
	if err != nil {
		t.Fatal(err)
	}
	p, err := add(nil).checker().plan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := election.NewManager(election.Config{
		Group:  c.Group,
		Host:   label,
		Member: election.Member{Revision: c.Member.Revision, Location: c.Member.Location, Weight: c.Member.Weight},
		Locks:  memory.New(clock.Boottime()).Store(),
		Timing: c.Timing,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.elections {
		if _, err := m.Add(e.spec, e.runner); err != nil {
			t.Error(err)
		}
	}
	if p.elections[0].runner != nil || p.elections[2].runner == nil {
		t.Error("an election without runners has one, or one with runners has none")
	}
}

// TestControllersElectionIsReserved checks that neither a start nor a reload accepts an election with the
// name or the lock of the election whose leader drives rollouts.
func TestControllersElectionIsReserved(t *testing.T) {
	for entry, want := range map[string]string{
		"{name: rollout-edge}":                  `a.yaml:6:10: elections[0].name: "rollout-edge" is the election in which rollouts of group edge are driven`,
		"{name: a, lock: {name: rollout-edge}}": `a.yaml:6:26: elections[0].lock.name: "rollout-edge" is`,
		"{name: a, lock: {kind: ConfigMap, migrateFrom: {kind: Lease, name: rollout-edge}}}": `elections[0].lock.migrateFrom: "rollout-edge" is`,
		"{name: a, lock: {kind: ConfigMap, name: rollout-edge}}":                             "",
		"{name: rollout-core}": "",
	} {
		c, err := config.Parse("a.yaml", fmt.Appendf(nil, "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nmember: {revision: a}\nelections:\n- %s\n", entry))
		if err != nil {
			t.Fatal(err)
		}
		_, err = add(nil).checker().plan(t.Context(), c)
		if got := message(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}

// TestAConfigMapThatIsRead checks that the ConfigMap with the default revision, or the one with the
// rollout, is refused as a lock: the election would overwrite it.
func TestAConfigMapThatIsRead(t *testing.T) {
	const source = "{configMap: {name: revisions, key: default}}"
	for _, tt := range []struct{ source, entry, want string }{
		{source, "{name: a, lock: {kind: ConfigMap, name: revisions}}",
			`a.yaml:7:43: elections[0].lock.name: ConfigMap "revisions" holds the default revision, which defaultRevision.configMap reads (give the lock another name)`},
		{source, "{name: revisions, lock: {kind: ConfigMap}}", `a.yaml:7:10: elections[0].name: ConfigMap "revisions" holds`},
		{source, "{name: a, lock: {migrateFrom: {kind: ConfigMap, name: revisions}}}",
			`a.yaml:7:33: elections[0].lock.migrateFrom: ConfigMap "revisions" holds the default revision, which defaultRevision.configMap reads (name the lock that this election had before)`},
		{"{configMap: {name: a-red, key: default}}", "{name: a, scope: revision, lock: {kind: ConfigMap}}", `elections[0].name: ConfigMap "a-red" holds`},
		{source, "{name: a, lock: {kind: ConfigMap, name: primacy-edge-rollout}}", `elections[0].lock.name: "primacy-edge-rollout" may be the name of a session`},
		{source, "{name: a, lock: {name: revisions}}", ""},
		{source, "{name: revisions, enabled: false, lock: {kind: ConfigMap}}", ""},
		{"red", "{name: a, lock: {kind: ConfigMap, name: revisions}}", ""},
	} {
		c, err := config.Parse("a.yaml", fmt.Appendf(nil, "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nmember: {revision: red}\ndefaultRevision: %s\nelections:\n- %s\n", tt.source, tt.entry))
		if err == nil {
			_, err = add(nil).checker().plan(t.Context(), c)
		}
		if got := message(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.entry, got, tt.want)
		}
	}
}

// TestAlikeOnce checks that a program that many runners lack is one mistake, which names their lines.
func TestAlikeOnce(t *testing.T) {
	at := func(line int, problem string) *strict.Error {
		return &strict.Error{File: "f", Line: line, Problem: problem}
	}
	got := alikeOnce(strict.Errors{at(1, "no a"), at(2, "no b"), at(3, "no a"), at(4, "no a")}).Error()
	if want := "f:1: no a; so in lines 3, 4\nf:2: no b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var many strict.Errors
	for line := range 8 {
		many = append(many, at(line+1, "no a"))
	}
	if got, want := alikeOnce(many).Error(), "f:1: no a; so in 7 other lines"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
