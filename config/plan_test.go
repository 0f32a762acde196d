package config

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// These are the possible effects of a change of a field.
const (
	keeps     = "keep"
	exchanges = "exchange"
	atOnce    = "at once"
	restarts  = "restart"
	refused   = "refused"
)

// changes has an edit of every field, and its effect.
var changes = []struct{ field, before, after, want string }{
	{"apiVersion", "", "", keeps}, // only one value is valid
	{"kind", "", "", keeps},
	{"group", "group: g", "group: h", restarts},
	{"namespace", "", "namespace: m", restarts},
	{"member", "", "member: {revision: b, weight: 1}", restarts},
	{"member.revision", "", "member: {revision: b}", restarts},
	{"member.location", "", "member: {location: remote}", restarts},
	{"member.weight", "", "member: {weight: 1}", restarts},
	{"member.proofs", "", "member: {proofs: [operator]}", restarts},
	{"member.removeSessions", "", "member: {removeSessions: true}", restarts},
	{"defaultRevision", "defaultRevision: a", "defaultRevision: b", atOnce},
	{"metrics", "", "metrics: {address: '127.0.0.1:1'}", restarts},
	{"metrics.address", "metrics: {address: '127.0.0.1:2'}", "metrics: {address: '127.0.0.1:1'}", restarts},
	{"http", "", "http: {address: '127.0.0.1:1'}", restarts},
	{"http.address", "http: {address: '127.0.0.1:2'}", "http: {address: '127.0.0.1:1'}", restarts},
	{"http.tls", "http: {address: ':1'}", "http: {address: ':1', tls: {certFile: c, keyFile: k}}", restarts},
	{"http.tls.certFile", "http: {address: ':1', tls: {certFile: d, keyFile: k}}", "http: {address: ':1', tls: {certFile: c, keyFile: k}}", restarts},
	{"http.tls.keyFile", "http: {address: ':1', tls: {certFile: c, keyFile: l}}", "http: {address: ':1', tls: {certFile: c, keyFile: k}}", restarts},
	{"http.metrics", "http: {address: '127.0.0.1:1'}", "http: {address: '127.0.0.1:1', metrics: totals}", restarts},
	{"http.access", "http: {address: '127.0.0.1:1'}", "http: {address: '127.0.0.1:1', access: token}", restarts},
	{"timing", "timing: {drift: 0.005}", "timing: {drift: 0.001}", restarts},
	{"timing.profile", "timing: {profile: default, stopGrace: 1s, nominateDelay: 1s, preemptDelay: 1s, minHold: 1s, standDown: 1s}", "timing: {profile: fast, stopGrace: 1s, nominateDelay: 1s, preemptDelay: 1s, minHold: 1s, standDown: 1s}", restarts},
	{"timing.leaseDuration", "", "timing: {leaseDuration: 16s}", restarts},
	{"timing.renewInterval", "", "timing: {renewInterval: 2s}", restarts},
	{"timing.drift", "", "timing: {drift: 0.001}", restarts},
	{"timing.stopGrace", "", "timing: {stopGrace: 4s}", exchanges},
	{"timing.nominateDelay", "", "timing: {nominateDelay: 4s}", exchanges},
	{"timing.preemptDelay", "", "timing: {preemptDelay: 4s}", exchanges},
	{"timing.minHold", "", "timing: {minHold: 4s}", exchanges},
	{"timing.standDown", "", "timing: {standDown: 4s}", exchanges},
	{"elections", "elections: [{name: e}]", "elections: [{name: e}]", keeps},
	{"elections[0].name", "elections: [{name: e, lock: {name: l}}]", "elections: [{name: f, lock: {name: l}}]", "add f, remove e"},
	{"elections[0].scope", "", "scope: revision", refused},
	{"elections[0].enabled", "", "enabled: false", exchanges},
	{"elections[0].lock", "", "lock: {kind: ConfigMap}", refused},
	{"elections[0].lock.kind", "lock: {kind: ConfigMap}", "lock: {kind: Lease}", refused},
	{"elections[0].lock.name", "lock: {name: x}", "lock: {name: z}", refused},
	{"elections[0].lock.namespace", "", "lock: {namespace: kube-system}", refused},
	{"elections[0].lock.migrateFrom.namespace", "lock: {migrateFrom: {namespace: nn}}", "lock: {migrateFrom: {namespace: oo}}", exchanges},
	{"elections[0].lock.renewal", "", "lock: {renewal: record}", exchanges},
	{"elections[0].lock.sharedWith", "", "lock: {sharedWith: client-go}", exchanges},
	{"elections[0].lock.foreign", "lock: {sharedWith: client-go}", "lock: {sharedWith: client-go, foreign: {renewDeadline: 10s, retryPeriod: 2s}}", exchanges},
	{"elections[0].lock.foreign.renewDeadline", "lock: {sharedWith: client-go, foreign: {renewDeadline: 11s, retryPeriod: 2s}}", "lock: {sharedWith: client-go, foreign: {renewDeadline: 10s, retryPeriod: 2s}}", exchanges},
	{"elections[0].lock.foreign.retryPeriod", "lock: {sharedWith: client-go, foreign: {renewDeadline: 10s, retryPeriod: 3s}}", "lock: {sharedWith: client-go, foreign: {renewDeadline: 10s, retryPeriod: 2s}}", exchanges},
	{"elections[0].lock.migrateFrom", "lock: {kind: ConfigMap}", "lock: {kind: Lease, migrateFrom: {kind: ConfigMap}}", exchanges},
	{"elections[0].lock.migrateFrom.kind", "lock: {migrateFrom: {kind: ConfigMap, name: x}}", "lock: {migrateFrom: {kind: Lease, name: x}}", exchanges},
	{"elections[0].lock.migrateFrom.name", "lock: {migrateFrom: {name: x}}", "lock: {migrateFrom: {name: z}}", exchanges},
	{"elections[0].priority", "", "priority: {policy: none}", exchanges},
	{"elections[0].priority.policy", "", "priority: {policy: none}", exchanges},
	{"elections[0].priority.chain", "priority: {chain: [weight]}", "priority: {chain: [location]}", exchanges},
	{"elections[0].priority.preemptDelay", "", "priority: {preemptDelay: 4s}", exchanges},
	{"elections[0].priority.minHold", "", "priority: {minHold: 4s}", exchanges},
	{"elections[0].timing", "", "timing: {standDown: 4s}", exchanges},
	{"elections[0].timing.profile", "", "timing: {profile: fast}", exchanges},
	{"elections[0].timing.leaseDuration", "", "timing: {leaseDuration: 20s}", exchanges},
	{"elections[0].timing.renewInterval", "", "timing: {renewInterval: 2s}", exchanges},
	{"elections[0].timing.stopGrace", "", "timing: {stopGrace: 4s}", exchanges},
	{"elections[0].timing.nominateDelay", "", "timing: {nominateDelay: 4s}", exchanges},
	{"elections[0].timing.preemptDelay", "", "timing: {preemptDelay: 4s}", exchanges},
	{"elections[0].timing.minHold", "", "timing: {minHold: 4s}", exchanges},
	{"elections[0].timing.standDown", "", "timing: {standDown: 4s}", exchanges},
	{"elections[0].timing.drift", "", "timing: {drift: 0.1}", "invalid"},
	{"elections[0].bootstrap", "", "bootstrap: immediate", exchanges},
	{"elections[0].range", "", "range: true", exchanges},
	{"elections[0].outage", "", "outage: failopen", exchanges},
	{"elections[0].onDeath", "", "onDeath: lease", exchanges},
	{"elections[0].failopenFor", "outage: failopen", "outage: failopen, failopenFor: 1h", exchanges},
	{"elections[0].leaderLabel", "", "leaderLabel: true", "relabel e"},
	{"elections[0].runners", "", "runners: [{name: w, exec: {}}]", exchanges},
	{"elections[0].runners[0]", "runners: [{name: w, exec: {a: b}}]", "runners: [{name: w, exec: {a: c}}]", exchanges},
}

// documentOf is a small document with one line added, at its top or in its election.
func documentOf(field, line string) []byte {
	group, of := "group: g\n", "elections: [{name: e}]\n"
	switch {
	case strings.HasPrefix(line, "group"):
		group = ""
	case strings.HasPrefix(line, "elections"):
		of = ""
	case strings.HasPrefix(field, "elections[0]."):
		of, line = "elections: [{name: e, "+line+"}]\n", "namespace: m"
	}
	return []byte("apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\n" + group + line + "\n" + of)
}

// outcome plans the edit and returns its effect.
func outcome(t *testing.T, field, before, after string) string {
	t.Helper()
	inForce, err := Parse("before", documentOf(field, before))
	if err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	written, err := Parse("after", documentOf(field, after))
	if err != nil {
		return "invalid"
	}
	plan, err := NewPlan(inForce, written)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "after:"):
		return refused
	case err != nil:
		return err.Error()
	}
	if again, err := NewPlan(plan.Next, written); err != nil || len(again.Named(Keep)) != len(again.Steps) || again.DefaultRevision || len(again.Restarts) != len(plan.Restarts) {
		t.Errorf("%s: once taken up it is not in force: %+v, %v", field, again, err)
	}
	var all []string
	for _, s := range plan.Steps {
		if s.Verb == Exchange && len(s.Fields) == 0 {
			t.Errorf("%s: exchanged for no field", field)
		}
		switch {
		case s.Verb == Keep:
		case s.Election == "e" && s.Verb == Exchange:
			all = append(all, exchanges)
		default:
			all = append(all, s.Verb.String()+" "+s.Election)
		}
	}
	if plan.DefaultRevision {
		all = append(all, atOnce)
	}
	if plan.Restarts != nil {
		all = append(all, restarts)
	}
	if all == nil {
		return keeps
	}
	return strings.Join(all, ", ")
}

// TestEveryFieldIsClassified checks that every field of a document has a row in changes, and that a
// change of the field has the effect in the row.
func TestEveryFieldIsClassified(t *testing.T) {
	missing := map[string]bool{}
	fieldsIn(reflect.TypeFor[document](), "", missing)
	if len(missing) < 50 {
		t.Fatal("the schema was not found:", missing)
	}
	for _, c := range changes {
		if !missing[c.field] {
			t.Errorf("%s is not a field, or stands there twice", c.field)
		}
		delete(missing, c.field)
		if got := outcome(t, c.field, c.before, c.after); got != c.want {
			t.Errorf("%s: from %q to %q: %s, want %s", c.field, c.before, c.after, got, c.want)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s is not classified: what does a change of it lead to in a process that runs?", field)
	}
}

// fieldsIn collects the paths of all fields of the schema.
func fieldsIn(of reflect.Type, path string, into map[string]bool) {
	if path != "" && path != "elections[0]" {
		into[path] = true
	}
	switch {
	case of == reflect.TypeFor[yaml.Node](), of == reflect.TypeFor[boundDoc]():
	case of.Kind() == reflect.Pointer:
		fieldsIn(of.Elem(), path, into)
	case of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.String:
		fieldsIn(of.Elem(), path+"[0]", into)
	case of.Kind() == reflect.Struct:
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); name != "" {
				fieldsIn(of.Field(i).Type, strings.TrimPrefix(path+"."+name, "."), into)
			}
		}
	}
}

// TestEveryFieldIsCompared checks that the tables in fields.go lack no field of a Configuration: a plan
// notices a change of each.
func TestEveryFieldIsCompared(t *testing.T) {
	text := "group: g\nmember: {proofs: [operator]}\nhttp: {address: '127.0.0.1:1', access: token, tls: {certFile: c, keyFile: k}}\ndefaultRevision: a\nelections: [{name: e, lock: {sharedWith: client-go, migrateFrom: {name: x}}, priority: {chain: [weight]}, runners: [{name: w, exec: {}}]}]\n"
	fresh := func() *Configuration {
		c, err := Parse("f", []byte("apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ignored := map[string]bool{ // these only say where a part stands in the document
		"File": true, "Elections[0].Field": true, "Elections[0].Node": true, "Elections[0].Lock.Node": true,
		// Elections inherit these, so comparing elections compares them.
		"Timing.StopGrace": true, "Timing.NominateDelay": true, "Timing.PreemptDelay": true, "Timing.MinHold": true, "Timing.StandDown": true,
		"DefaultRevision.Field": true, "Elections[0].Runners[0].Block.Field": true, "Elections[0].Runners[0].Entry": true,
	}
	seen := 0
	var visit func(path string, get func(*Configuration) reflect.Value)
	visit = func(path string, get func(*Configuration) reflect.Value) {
		v := get(fresh())
		switch {
		case ignored[path]:
		case v.Type() == reflect.TypeFor[netip.AddrPort](), v.Type() == reflect.TypeFor[*yaml.Node](), v.Kind() != reflect.Struct && v.Kind() != reflect.Slice && v.Kind() != reflect.Pointer:
			seen++
			c := fresh()
			other(t, path, get(c))
			if same(fresh(), c) {
				t.Errorf("a change of %s is not seen", path)
			}
		case v.Kind() == reflect.Pointer:
			visit(path, func(c *Configuration) reflect.Value { return get(c).Elem() })
		case v.Kind() == reflect.Slice:
			visit(path+"[0]", func(c *Configuration) reflect.Value { return get(c).Index(0) })
		default:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					visit(strings.TrimPrefix(path+"."+f.Name, "."), func(c *Configuration) reflect.Value { return get(c).Field(i) })
				}
			}
		}
	}
	visit("", func(c *Configuration) reflect.Value { return reflect.ValueOf(c).Elem() })
	if seen < 35 {
		t.Errorf("only %d fields were found", seen)
	}
}

// other gives a field another value.
func other(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Type() == reflect.TypeFor[netip.AddrPort]():
		v.Set(reflect.ValueOf(netip.MustParseAddrPort("127.0.0.1:9")))
	case v.Type() == reflect.TypeFor[*yaml.Node]():
		v.Set(reflect.ValueOf(&yaml.Node{Kind: yaml.ScalarNode, Value: "other"}))
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		t.Fatalf("%s: what is another %s?", path, v.Type())
	}
}

// TestPlanOfLocks checks that a plan refuses a change after which members with the old and members with
// the new document have no lock in common. The error has the place and a way that works.
func TestPlanOfLocks(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{"{name: e}", "{name: e, lock: {name: x}}", "after:5:36: elections[0].lock.name: the lock of election e would change from Lease/e to Lease/x: this member would work at the same time as members that have not taken the change up yet (add migrateFrom: {name: e} until every member has taken it up; or take the election out, and put it back when no member has it any more)"},
		{"{name: e, lock: {kind: ConfigMap, name: x}}", "{name: e}", "after:5:13: elections[0].lock: the lock of election e would change from ConfigMap/x to Lease/e: this member would work at the same time as members that have not taken the change up yet (add migrateFrom: {kind: ConfigMap, name: x} until"},
		{"{name: e, lock: {name: x}}", "{name: e, lock: {migrateFrom: {name: x}}}", ""},
		{"{name: e, lock: {migrateFrom: {name: x}}}", "{name: e}", ""},
		{"{name: e, lock: {migrateFrom: {name: x}}}", "{name: e, lock: {name: x}}", ""}, // the migration is given up
		{"{name: e, lock: {migrateFrom: {name: x}}}", "{name: e, lock: {name: x, migrateFrom: {name: e}}}", "elections[0].lock.migrateFrom: this reverses the move from Lease/x to Lease/e while members are still moving: each member could hold one of the two locks, and nobody would lead (first give every member the move from Lease/x to Lease/e, and wait until each has logged \"configuration changed\"; only then write one of the locks alone, Lease/x to go back: while a member has only one of the two, no other may drop either)"},
		{"{name: e, lock: {name: x}}", "{name: e, lock: {migrateFrom: {name: z}}}", "the lock of election e would change from Lease/x to Lease/e"},
		{"{name: e, lock: {name: x}}", "{name: e, enabled: false}", ""},
		{"{name: e, enabled: false, lock: {name: x}}", "{name: e}", ""},
		{"{name: e}", "{name: e, scope: revision}", "elections[0].scope: the election e would be e-default, with the lock Lease/e-default instead of Lease/e: this member would work at the same time as members that have not taken the change up yet (take the election out, and put it back when no member has it any more)"},
		{"{name: e, scope: revision}", "{name: e}", "the election e-default would be e, with the lock Lease/e instead of Lease/e-default"},
		{"{name: e}", "{name: e, scope: revision, lock: {migrateFrom: {name: e}}}", ""},
		{"{name: e}", "{name: e}, {name: e, scope: revision}", ""}, // e-default is one more election
		{"{name: e, scope: revision, lock: {kind: ConfigMap}}", "{name: e, scope: revision, lock: {migrateFrom: {kind: ConfigMap, name: e}}}", "add migrateFrom: {kind: ConfigMap, name: e-default} until"},
		{"{name: e, scope: revision, lock: {kind: ConfigMap}}", "{name: e, scope: revision, lock: {migrateFrom: {kind: ConfigMap, name: e-default}}}", ""},
		{"{name: e}, {name: f}", "{name: f, lock: {name: e}}", "the lock of election f would change from Lease/f to Lease/e"},
		{"{name: e}", "{name: f, lock: {name: e}}", ""},
		{"{name: e}", "{name: e, lock: {namespace: home}}", ""},
		{"{name: e}", "{name: e, lock: {namespace: nn}}", "elections[0].lock.namespace: the lock of election e would change from Lease/e to Lease/nn/e: this member would work at the same time as members that have not taken the change up yet (add migrateFrom: {namespace: home} until"},
		{"{name: e, lock: {namespace: nn}}", "{name: e}", "the lock of election e would change from Lease/nn/e to Lease/e: this member would work at the same time as members that have not taken the change up yet (add migrateFrom: {namespace: nn} until"},
		{"{name: e, lock: {namespace: nn}}", "{name: e, lock: {namespace: oo}}", "from Lease/nn/e to Lease/oo/e"},
		{"{name: e}", "{name: e, lock: {namespace: nn, migrateFrom: {namespace: home}}}", ""},
		{"{name: e, lock: {namespace: nn, migrateFrom: {namespace: home}}}", "{name: e, lock: {namespace: nn}}", ""},
		{"{name: e, lock: {namespace: nn, migrateFrom: {namespace: home}}}", "{name: e, lock: {migrateFrom: {namespace: nn}}}", "this reverses the move from Lease/e to Lease/nn/e"},
		{"{name: e, lock: {namespace: nn}}", "{name: e, lock: {migrateFrom: {namespace: nn}}}", ""},
		{"{name: e, lock: {namespace: nn}}", "{name: f, lock: {name: e}}", ""},
	} {
		var docs [2]*Configuration
		for i, text := range []string{tt.before, tt.after} {
			var err error
			docs[i], err = Parse([]string{"before", "after"}[i], []byte("apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: g\nnamespace: home\nelections: ["+text+"]\n"))
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := NewPlan(docs[0], docs[1])
		if got := fmt.Sprint(err); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(got, tt.want)) {
			t.Errorf("from %s to %s:\ngot  %s\nwant %s", tt.before, tt.after, got, tt.want)
		}
	}
}

// TestPlanOfSpaces checks that a plan refuses another namespace of the sessions if a lock would move with it: members that are restarted
// would have no lock in common with those that are not.
func TestPlanOfSpaces(t *testing.T) {
	doc := func(file, namespace, election string) *Configuration {
		c, err := Parse(file, []byte("apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: g\nnamespace: "+namespace+"\nelections: [{name: e"+election+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const moves = "after:4:12: namespace: with it the lock of election e would change from Lease/home/e to Lease/away/e: members that are restarted would work at the same time as members that are not yet (leave the locks where they are, with lock: {namespace: home} in"
	for _, tt := range []struct{ before, after, want string }{
		{"", "", moves},
		{", lock: {namespace: home}", "", moves},
		{"", ", lock: {namespace: home}", ""},
		{", lock: {namespace: nn}", ", lock: {namespace: nn}", ""},
		{", lock: {namespace: away, migrateFrom: {namespace: home}}", ", lock: {namespace: away, migrateFrom: {namespace: home}}", ""},
		{", enabled: false", ", enabled: false", ""},
	} {
		plan, err := NewPlan(doc("before", "home", tt.before), doc("after", "away", tt.after))
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q, %q:\ngot  %v\nwant %s", tt.before, tt.after, err, tt.want)
		case tt.want == "" && (err != nil || len(plan.Restarts) != 1):
			t.Errorf("%q, %q: %+v, %v", tt.before, tt.after, plan, err)
		}
	}
}

// TestPlanKeepsTheSession checks that a timing is refused if it does not fit the session of the running
// process, even if a new process would accept it.
func TestPlanKeepsTheSession(t *testing.T) {
	doc := func(timing, election string) *Configuration {
		c, err := Parse("f", []byte("apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: g\ntiming: "+timing+"\nelections: [{name: e, "+election+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const kept = "this process keeps leaseDuration 5s and renewInterval 1s for its session until it is restarted"
	for _, tt := range []struct{ timing, election, want string }{
		{"{profile: fast, leaseDuration: 20s, stopGrace: 10s}", "", "f:4:56: timing.stopGrace: no renewal may fail: leaseDuration 5s x (1 - drift 0.005) - stopGrace 10s = -5.025s, which must be at least 2 x renewInterval 1s = 2s (" + kept + ")"},
		{"{profile: relaxed}", "", "f:4:19: timing.profile: no renewal may fail"},
		{"{profile: fast, leaseDuration: 20s}", "timing: {stopGrace: 10s}", "f:5:43: elections[0].timing.stopGrace: no renewal may fail"},
		{"{profile: fast, leaseDuration: 20s}", "timing: {leaseDuration: 20s}, lock: {renewal: session}", "elections[0].lock.renewal: sessions are shared"},
		{"{profile: fast, leaseDuration: 6s}", "", ""},
		{"{profile: fast, drift: 0.01}", "", ""},
	} {
		plan, err := NewPlan(doc("{profile: fast}", ""), doc(tt.timing, tt.election))
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s, %s:\ngot  %v\nwant %s", tt.timing, tt.election, err, tt.want)
		case tt.want == "" && (err != nil || len(plan.Named(Keep)) != 1 || len(plan.Restarts) != 1):
			t.Errorf("%s: %+v, %v", tt.timing, plan, err)
		}
	}
}
