package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// wrongs has a wrong value for every field of a document, and the error that it must cause.
var wrongs = []struct{ field, text, want string }{
	{"apiVersion", "apiVersion: primacy.dev/v2\nkind: PrimacyConfiguration\nelections: []",
		"f:1:13: apiVersion: is not of a kind that Primacy knows (write apiVersion: primacy.dev/v1alpha1)"},
	{"kind", "apiVersion: primacy.dev/v1alpha1\nkind: primacyconfiguration\nelections: []",
		"f:2:7: kind: is not of a kind that Primacy knows (write kind: PrimacyConfiguration)"},
	{"group", "group: Edge\nelections: []",
		`f:3:8: group: "Edge" is not a valid name (use lower-case letters, digits and dashes; begin and end with a letter or digit)`},
	{"group", "elections: []",
		"f:1:1: group: is missing (add group: <name>, or set --group or PRIMACY_GROUP)"},
	{"namespace", "group: edge\nnamespace: edge.system\nelections: []",
		`f:4:12: namespace: "edge.system" is not a valid name (use lower-case letters, digits and dashes; begin and end with a letter or digit)`},
	{"member", "group: edge\nmember: [a]\nelections: []",
		"f:4:9: member: want a mapping, got a list (write fields as name: value)"},
	{"member.revision", "group: edge\nmember: {revision: ^a}\nelections: []",
		`f:4:20: member.revision: "^a" is not a valid name (use letters, digits, dashes, underscores and dots; begin and end with a letter or digit)`},
	{"member.revision", "group: edge\nmember: {revision: ''}\nelections: []",
		`f:4:20: member.revision: is empty (give it a name)`},
	{"member.location", "group: edge\nmember: {location: Local}\nelections: []",
		`f:4:20: member.location: unknown location "Local" (want local or remote)`},
	{"member.weight", "group: edge\nmember: {weight: -1}\nelections: []",
		"f:4:18: member.weight: -1 must not be negative (the default is 100)"},
	{"member.proofs", "group: edge\nmember: {proofs: operator}\nelections: []",
		`f:4:18: member.proofs: want a list, got "operator" (write [a, b], or an entry a line, each after "- ")`},
	{"member.removeSessions", "group: edge\nmember: {removeSessions: perhaps}\nelections: []",
		`f:4:26: member.removeSessions: want true or false, got "perhaps" (write true or false)`},
	{"member.proofs[0]", "group: edge\nmember: {proofs: [operater]}\nelections: []",
		`f:4:19: member.proofs[0]: want cgroup or operator or kubelet or out-of-service, got "operater" (did you mean operator?)`},
	{"member.proofs[0]", "group: edge\nmember: {proofs: [parent]}\nelections: []",
		"f:4:19: member.proofs[0]: a parent's proof counts without being listed (leave it out; primacy run --guard=false goes without)"},
	{"member.proofs[0]", "group: edge\nmember: {proofs: [operator, operator]}\nelections: []",
		`f:4:29: member.proofs[1]: "operator" stands there twice (leave one of the two out)`},
	{"defaultRevision", "group: edge\ndefaultRevision: 1.10\nelections: []",
		`f:4:18: defaultRevision: 1.10 is a number, want text (write it quoted: "1.10")`},
	{"defaultRevision", "group: edge\ndefaultRevision: {}\nelections: []",
		`f:4:18: defaultRevision: has no kind (add one, such as static: {revision: "1-9-0"})`},
	{"defaultRevision", "group: edge\ndefaultRevision: {static: 1.10}\nelections: []",
		`f:4:27: defaultRevision.static: 1.10 is a number, want text (write it quoted: "1.10")`},
	{"timing", "group: edge\ntiming: fast\nelections: []",
		`f:4:9: timing: want a mapping, got "fast" (write fields as name: value)`},
	{"timing.profile", "group: edge\ntiming: {profile: quick}\nelections: []",
		`f:4:19: timing.profile: unknown timing profile "quick" (want one of fast, default, relaxed, single-node)`},
	{"timing.leaseDuration", "group: edge\ntiming: {leaseDuration: 999ms}\nelections: []",
		"f:4:25: timing.leaseDuration: 999ms is too short: a Lease stores whole seconds, so it must be 1s or more"},
	{"timing.leaseDuration", "group: edge\ntiming: {leaseDuration: 9000h}\nelections: []",
		"f:4:25: timing.leaseDuration: 9000h0m0s is too long: a dead member's elections would be led by nobody for that long, so it must be 1h0m0s or less"},
	{"timing.leaseDuration", "group: edge\ntiming: {leaseDuration: 10s}\nelections: []",
		"f:4:25: timing.leaseDuration: no renewal may fail: leaseDuration 10s x (1 - drift 0.005) - stopGrace 5s = 4.95s, which must be at least 2 x renewInterval 3s = 6s (leaseDuration: 12s or more would do, or stopGrace: 3.9s or less)"},
	{"timing.renewInterval", "group: edge\ntiming: {renewInterval: 5s}\nelections: []",
		"f:4:25: timing.renewInterval: no renewal may fail: leaseDuration 15s x (1 - drift 0.005) - stopGrace 5s = 9.925s, which must be at least 2 x renewInterval 5s = 10s (leaseDuration: 16s or more would do, or stopGrace: 4.9s or less)"},
	{"timing.stopGrace", "group: edge\ntiming: {stopGrace: 9s}\nelections: []",
		"f:4:21: timing.stopGrace: no renewal may fail: leaseDuration 15s x (1 - drift 0.005) - stopGrace 9s = 5.925s, which must be at least 2 x renewInterval 3s = 6s (leaseDuration: 16s or more would do, or stopGrace: 8.9s or less)"},
	{"timing.nominateDelay", "group: edge\ntiming: {nominateDelay: -2s}\nelections: []",
		"f:4:25: timing.nominateDelay: -2s must be more than 0"},
	{"timing.preemptDelay", "group: edge\ntiming: {preemptDelay: soon}\nelections: []",
		`f:4:24: timing.preemptDelay: want a duration, got "soon" (write a number with a unit (ms, s, m, h), such as 5s or 1m30s)`},
	{"timing.minHold", "group: edge\ntiming: {minHold: 10}\nelections: []",
		`f:4:19: timing.minHold: "10" has no unit (10 → "10s")`},
	{"timing.standDown", "group: edge\ntiming: {standDown: -60s}\nelections: []",
		"f:4:21: timing.standDown: -1m0s must be more than 0"},
	{"timing.drift", "group: edge\ntiming: {drift: 0.5}\nelections: []",
		"f:4:17: timing.drift: 0.5 must be more than 0 and below 0.5: no two clocks run alike"},
	{"http", "group: edge\nhttp: {}\nelections: []",
		"f:4:7: http.address: is missing (add address: ...)"},
	{"http.address", "group: edge\nhttp: {address: localhost}\nelections: []",
		`f:4:17: http.address: "localhost" is no IP address with a port (write :8080 for all addresses of this machine, 127.0.0.1:8080 for this machine only, or 127.0.0.1:0 for any free port)`},
	{"http.tls", "group: edge\nhttp: {address: ':1', tls: {keyFile: k}}\nelections: []",
		"f:4:28: http.tls.certFile: is missing (add certFile: ...)"},
	{"http.tls.certFile", "group: edge\nhttp: {address: ':1', tls: {certFile: '', keyFile: k}}\nelections: []",
		"f:4:39: http.tls.certFile: is empty (name a file)"},
	{"http.tls.keyFile", "group: edge\nhttp: {address: ':1', tls: {certFile: c, keyFile: ''}}\nelections: []",
		"f:4:51: http.tls.keyFile: is empty (name a file)"},
	{"http.access", "group: edge\nhttp: {address: ':1', access: open}\nelections: []",
		"f:4:31: http.access: open is only for loopback addresses, and :1 is none (write token, or 127.0.0.1 and the port in http.address)"},
	{"http.access", "group: edge\nhttp: {address: ':1', access: tokens}\nelections: []",
		`f:4:31: http.access: want open or token, got "tokens" (did you mean token?)`},
	{"http.metrics", "group: edge\nhttp: {address: ':1', metrics: total}\nelections: []",
		`f:4:32: http.metrics: want each or totals, got "total" (did you mean totals?)`},
	{"metrics", "group: edge\nmetrics: {}\nelections: []",
		"f:4:10: metrics.address: is missing (add address: ...)"},
	{"metrics", "group: edge\nhttp: {address: ':1'}\nmetrics: {address: '127.0.0.1:1'}\nelections: []",
		"f:5:10: metrics: is the former name of http, and both are there (remove metrics)"},
	{"metrics.address", "group: edge\nmetrics: {address: localhost}\nelections: []",
		`f:4:20: metrics.address: "localhost" is no IP address with a port (write http: {address: 127.0.0.1:9090} in place of metrics, or port 0 for any free one)`},
	{"metrics.address", "group: edge\nmetrics: {address: '0.0.0.0:9090'}\nelections: []",
		"f:4:20: metrics.address: 0.0.0.0 is not a loopback address, and metrics serves without authentication (write http, which asks for tokens there)"},
	{"elections", "group: edge\nelections: {a: {}}",
		`f:4:12: elections: want a list, got a mapping (write [a, b], or an entry a line, each after "- ")`},
	{"elections", "group: edge",
		"f:1:1: elections: is missing (add elections: ...)"},
	{"elections[0].name", "group: edge\nelections: [{name: a/b}]",
		`f:4:20: elections[0].name: "a/b" is not a valid name (use lower-case letters, digits, dashes and dots; begin and end each part with a letter or digit)`},
	{"elections[0].name", "group: edge\nelections: [{name: " + strings.Repeat("a", 64) + "}]",
		`f:4:20: elections[0].name: "` + strings.Repeat("a", 64) + `" has 64 characters (63 at most)`},
	{"elections[0].lock", "group: edge\nelections: [{name: a, lock: Lease}]",
		`f:4:29: elections[0].lock: want a mapping, got "Lease" (write fields as name: value)`},
	{"elections[0].lock.kind", "group: edge\nelections: [{name: a, lock: {kind: ''}}]",
		"f:4:36: elections[0].lock.kind: is empty (the default is Lease)"},
	{"elections[0].lock.name", "group: edge\nelections: [{name: a, lock: {name: _}}]",
		`f:4:36: elections[0].lock.name: "_" is not a valid name (use lower-case letters, digits, dashes and dots; begin and end each part with a letter or digit)`},
	{"elections[0].lock.sharedWith", "group: edge\nelections: [{name: a, lock: {sharedWith: Istio}}]",
		"f:4:42: elections[0].lock.sharedWith: want client-go or istio, got \"Istio\" (did you mean istio?)"},
	{"elections[0].range", "group: edge\nelections: [{name: a, range: often}]",
		`f:4:30: elections[0].range: want true or false, got "often" (write true or false)`},
	{"elections[0].range", "group: edge\nelections: [{name: a, range: true, lock: {sharedWith: client-go}}]",
		"f:4:30: elections[0].range: ranges cannot be combined with a lock that is shared with client-go (leave out one of the two)"},
	{"elections[0].range", "group: edge\nelections: [{name: a, range: true, lock: {migrateFrom: {kind: ConfigMap}}}]",
		"f:4:30: elections[0].range: ranges cannot be combined with a migration of the lock (finish the migration first)"},
	{"elections[0].onDeath", "group: edge\nelections: [{name: a, onDeath: wait}]",
		`f:4:32: elections[0].onDeath: want proof or lease, got "wait"`},
	{"elections[0].outage", "group: edge\nelections: [{name: a, outage: open}]",
		`f:4:31: elections[0].outage: want stop or failopen, got "open"`},
	{"elections[0].outage", "group: edge\nelections: [{name: a, outage: failopen, lock: {sharedWith: istio}}]",
		"f:4:31: elections[0].outage: a term that fails open cannot be combined with a lock that is shared with istio (leave out one of the two)"},
	{"elections[0].failopenFor", "group: edge\nelections: [{name: a, failopenFor: 1m}]",
		"f:4:36: elections[0].failopenFor: the work stops in an outage (write outage: failopen, or leave failopenFor out)"},
	{"elections[0].failopenFor", "group: edge\nelections: [{name: a, outage: failopen, failopenFor: 0s}]",
		"f:4:54: elections[0].failopenFor: 0s must be more than 0 (write how long work may go on after its lock has expired, or unbounded)"},
	{"elections[0].failopenFor", "group: edge\nelections: [{name: a, outage: failopen, failopenFor: 9000h}]",
		"f:4:54: elections[0].failopenFor: 9000h0m0s is longer than a year (write unbounded)"},
	{"elections[0].failopenFor", "group: edge\nelections: [{name: a, outage: failopen, failopenFor: forever}]",
		`f:4:54: elections[0].failopenFor: want a duration, got "forever" (write a number with a unit (ms, s, m, h), such as 5s or 1m30s)`},
	{"elections[0].lock.migrateFrom", "group: edge\nelections: [{name: a, lock: {migrateFrom: {name: a}}}]",
		"f:4:43: elections[0].lock.migrateFrom: is the lock that the election has now (name the kind or the name that it had before, such as kind: ConfigMap)"},
	{"elections[0].lock.migrateFrom", "group: edge\nelections: [{name: a}, {name: b, lock: {migrateFrom: {name: a}}}]",
		"f:4:54: elections[1].lock.migrateFrom: the lock \"Lease/a\" belongs to elections[0].name in line 4 too (name the lock that this election had before)"},
	{"elections[0].lock.migrateFrom.kind", "group: edge\nelections: [{name: a, lock: {migrateFrom: {kind: ''}}}]",
		"f:4:50: elections[0].lock.migrateFrom.kind: is empty (the default is Lease)"},
	{"elections[0].lock.migrateFrom.name", "group: edge\nelections: [{name: a, lock: {migrateFrom: {kind: ConfigMap, name: A}}}]",
		`f:4:67: elections[0].lock.migrateFrom.name: "A" is not a valid name (use lower-case letters, digits, dashes and dots; begin and end each part with a letter or digit)`},
	{"elections[0].leaderLabel", "group: edge\nelections: [{name: a, leaderLabel: yes}]",
		"f:4:36: elections[0].leaderLabel: want true or false, got \"yes\" (write true)"},
	{"elections[0].leaderLabel", "group: edge\nelections: [{name: a, enabled: false, leaderLabel: true}]",
		"f:4:52: elections[0].leaderLabel: with enabled: false there is no leader (leave out one of the two)"},
	{"elections[0].lock.namespace", "group: edge\nnamespace: m\nelections: [{name: a, lock: {namespace: Kube-System}}]",
		`f:5:41: elections[0].lock.namespace: "Kube-System" is not a valid name (use lower-case letters, digits and dashes; begin and end with a letter or digit)`},
	{"elections[0].lock.namespace", "group: edge\nelections: [{name: a, lock: {namespace: kube-system}}]",
		"f:4:41: elections[0].lock.namespace: the configuration says where this lock is, but not where the sessions are (write namespace: ... at the top of the file, or give --namespace or PRIMACY_NAMESPACE)"},
	{"elections[0].lock.namespace", "group: edge\nnamespace: m\nelections: [{name: a, lock: {namespace: kube-system, renewal: session}}]",
		"f:5:63: elections[0].lock.renewal: sessions are Leases, and the lock is kept elsewhere (write renewal: record, or leave it out)"},
	{"elections[0].lock.namespace", "group: edge\nnamespace: m\nelections: [{name: a, lock: {namespace: nn}}, {name: b, lock: {namespace: nn, name: a}}]",
		"f:5:85: elections[1].lock.name: the lock \"Lease/nn/a\" belongs to elections[0].name in line 5 too (give one of them another lock.name)"},
	{"elections[0].lock.migrateFrom.namespace", "group: edge\nnamespace: m\nelections: [{name: a, lock: {migrateFrom: {namespace: NN}}}]",
		`f:5:55: elections[0].lock.migrateFrom.namespace: "NN" is not a valid name (use lower-case letters, digits and dashes; begin and end with a letter or digit)`},
	{"elections[0].lock.migrateFrom.namespace", "group: edge\nnamespace: m\nelections: [{name: a, lock: {migrateFrom: {namespace: m}}}]",
		"f:5:43: elections[0].lock.migrateFrom: is the lock that the election has now (name the kind or the name that it had before, such as kind: ConfigMap)"},
	{"elections[0].lock.foreign", "group: edge\nelections: [{name: a, lock: {foreign: {renewDeadline: 10s, retryPeriod: 2s}}}]",
		"f:4:39: elections[0].lock.foreign: the timings of client-go's electors, but the lock is not shared with any (write sharedWith: client-go, or leave foreign out)"},
	{"elections[0].lock.foreign.renewDeadline", "group: edge\nelections: [{name: a, lock: {sharedWith: client-go, foreign: {renewDeadline: 0s, retryPeriod: 2s}}}]",
		"f:4:78: elections[0].lock.foreign.renewDeadline: must be more than 0 and at most a year (both are set where the elector is made, such as 10s and 2s)"},
	{"elections[0].lock.foreign.retryPeriod", "group: edge\nelections: [{name: a, lock: {sharedWith: client-go, foreign: {renewDeadline: 10s}}}]",
		"f:4:62: elections[0].lock.foreign.retryPeriod: must be more than 0 and at most a year (both are set where the elector is made, such as 10s and 2s)"},
	{"elections[0].lock.renewal", "group: edge\nelections: [{name: a, lock: {kind: ConfigMap, renewal: session}}]",
		"f:4:56: elections[0].lock.renewal: sessions are Leases, and the lock is kept elsewhere (write renewal: record, or leave it out)"},
	{"elections[0].priority", "group: edge\nelections: [{name: a, priority: 3}]",
		`f:4:33: elections[0].priority: want a mapping, got "3" (write fields as name: value)`},
	{"elections[0].priority.policy", "group: edge\nelections: [{name: a, priority: {policy: no}}]",
		`f:4:42: elections[0].priority.policy: no is a boolean, want text (write it quoted: "no")`},
	{"elections[0].priority.chain", "group: edge\nelections: [{name: a, priority: {chain: weight}}]",
		`f:4:41: elections[0].priority.chain: want a list, got "weight" (write [a, b], or an entry a line, each after "- ")`},
	{"elections[0].priority.chain", "group: edge\nelections: [{name: a, priority: {chain: []}}]",
		"f:4:41: elections[0].priority.chain: has no keys (write policy: none if nobody should outrank anybody)"},
	{"elections[0].priority.chain", "group: edge\nelections: [{name: a, priority: {policy: none, chain: [weight]}}]",
		"f:4:55: elections[0].priority.chain: there is a policy too, in line 4 (leave out one of the two)"},
	{"elections[0].priority.chain[0]", "group: edge\nelections: [{name: a, priority: {chain: [weight, location, weight]}}]",
		`f:4:60: elections[0].priority.chain[2]: "weight" stands there twice (leave one of the two out)`},
	{"elections[0].priority.chain[0]", "group: edge\nelections: [{name: a, priority: {chain: [no]}}]",
		`f:4:42: elections[0].priority.chain[0]: no is a boolean, want text (write it quoted: "no")`},
	{"elections[0].priority.preemptDelay", "group: edge\nelections: [{name: a, priority: {preemptDelay: -1s}}]",
		"f:4:48: elections[0].priority.preemptDelay: -1s must not be negative (write 0s to not wait)"},
	{"elections[0].priority.minHold", "group: edge\nelections: [{name: a, priority: {minHold: 8761h}}]",
		"f:4:43: elections[0].priority.minHold: 8761h0m0s is longer than a year (it must be 8760h or less)"},
	{"elections[0].timing", "group: edge\nelections: [{name: a, timing: 5s}]",
		`f:4:31: elections[0].timing: want a mapping, got "5s" (write fields as name: value)`},
	{"elections[0].timing.profile", "group: edge\nelections: [{name: a, timing: {profile: ''}}]",
		`f:4:41: elections[0].timing.profile: unknown timing profile "" (want one of fast, default, relaxed, single-node)`},
	{"elections[0].timing.leaseDuration", "group: edge\nelections: [{name: a, timing: {leaseDuration: 2500ms}}]",
		"f:4:47: elections[0].timing.leaseDuration: 2.5s is not a whole number of seconds, and a Lease stores whole seconds"},
	{"elections[0].timing.renewInterval", "group: edge\nelections: [{name: a, timing: {renewInterval: 0s}}]",
		"f:4:47: elections[0].timing.renewInterval: 0s must be more than 0"},
	{"elections[0].timing.stopGrace", "group: edge\nelections: [{name: a, timing: {stopGrace: 14s}}]",
		"f:4:43: elections[0].timing.stopGrace: no renewal may fail: leaseDuration 15s x (1 - drift 0.005) - stopGrace 14s = 925ms, which must be at least 2 x renewInterval 3s = 6s (leaseDuration: 21s or more would do, or stopGrace: 8.9s or less)"},
	{"elections[0].timing.nominateDelay", "group: edge\nelections: [{name: a, timing: {nominateDelay: -1s}}]",
		"f:4:47: elections[0].timing.nominateDelay: -1s must be more than 0"},
	{"elections[0].timing.preemptDelay", "group: edge\nelections: [{name: a, timing: {preemptDelay: -1s}}]",
		"f:4:46: elections[0].timing.preemptDelay: -1s must not be negative (write 0s to not wait)"},
	{"elections[0].timing.minHold", "group: edge\nelections: [{name: a, timing: {minHold: -1s}}]",
		"f:4:41: elections[0].timing.minHold: -1s must not be negative (write 0s to not wait)"},
	{"elections[0].timing.standDown", "group: edge\nelections: [{name: a, timing: {standDown: true}}]",
		`f:4:43: elections[0].timing.standDown: want a duration, got "true" (write a number with a unit (ms, s, m, h), such as 5s or 1m30s)`},
	{"elections[0].timing.drift", "group: edge\nelections: [{name: a, timing: {drift: 0.01}}]",
		"f:4:39: elections[0].timing.drift: drift is about the clocks of all members, not about an election (set timing.drift for all elections)"},
	{"elections[0].enabled", "group: edge\nelections: [{name: a, enabled: no}]",
		`f:4:32: elections[0].enabled: want true or false, got "no" (write false)`},
	{"elections[0].scope", "group: edge\nelections: [{name: a, scope: revisions}]",
		`f:4:30: elections[0].scope: want group or revision, got "revisions" (did you mean revision?)`},
	{"elections[0].bootstrap", "group: edge\nelections: [{name: a, bootstrap: imediate}]",
		`f:4:34: elections[0].bootstrap: want wait or immediate, got "imediate" (did you mean immediate?)`},
	{"elections[0].runners", "group: edge\nelections: [{name: a, runners: {exec: {}}}]",
		`f:4:32: elections[0].runners: want a list, got a mapping (write [a, b], or an entry a line, each after "- ")`},
	{"elections[0].runners[0]", "group: edge\nelections: [{name: a, runners: [writer]}]",
		`f:4:33: elections[0].runners[0]: want a mapping, got "writer" (write fields as name: value)`},
	{"elections[0].runners[0]", "group: edge\nelections: [{name: a, runners: [{name: A, exec: {}}]}]",
		`f:4:40: elections[0].runners[0].name: "A" is not a valid name (use lower-case letters, digits and dashes; begin and end with a letter or digit)`},
	{"elections[0].runners[0]", "group: edge\nelections: [{name: a, runners: [{name: a, onExit: no, exec: {}}]}]",
		`f:4:51: elections[0].runners[0].onExit: no is a boolean, want text (write it quoted: "no")`},
}

func TestEveryFieldWrong(t *testing.T) {
	missing := make(map[string]bool)
	keysOf(reflect.TypeFor[document](), "", missing)
	if len(missing) < 30 {
		t.Fatal("the schema was not found:", missing)
	}
	for _, c := range wrongs {
		if _, known := missing[c.field]; !known {
			t.Errorf("%s is not a field", c.field)
		}
		missing[c.field] = false
		text := c.text
		if !strings.HasPrefix(text, "apiVersion") {
			text = "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\n" + text
		}
		_, err := Parse("f", []byte(text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
	for field, is := range missing {
		if is {
			t.Errorf("no wrong value of %s is tried", field)
		}
	}
}

// schema collects the paths of all fields.
func keysOf(t reflect.Type, path string, into map[string]bool) {
	if path != "" {
		into[path] = true
	}
	switch {
	case t == reflect.TypeFor[time.Duration]() || t == reflect.TypeFor[yaml.Node]():
	case t.Kind() == reflect.Pointer:
		keysOf(t.Elem(), path, into)
	case t.Kind() == reflect.Slice:
		keysOf(t.Elem(), path+"[0]", into)
		delete(into, "elections[0]")
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" {
				keysOf(t.Field(i).Type, strings.TrimPrefix(path+"."+name, "."), into)
			}
		}
	}
}
