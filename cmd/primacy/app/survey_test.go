package app

import (
	"strings"
	"testing"
)

// surveyed has a mistake for each stage of validation, each in an election of its own.
const surveyed = `apiVersion: primacy.dev/v1alpha1
kind: PrimacyConfiguration
group: edge
member: {revision: red}
defaultRevision: {configmap: {name: a, key: b}}
elections:
- name: a
  lok: {}
- name: B
  range: maybe
- name: c
  lock: {kind: Leese}
- name: d
  priority: {policy: weigth}
  runners:
  - {name: one, exec: {comand: [/bin/true]}}
- name: d
- name: e
  rnage: true
  lock: {kind: Confgimap}
  priority: {chain: [wieght]}
  runners:
  - {name: one, exec: {comand: [/bin/true]}}
  - {name: two, exce: {command: [/bin/true]}}
  - {name: three, exec: {command: [/bin/true], stopGrace: 1h}}
`

// TestValidateTellsAllAtOnce checks that validate reports the mistakes of all stages at once.
func TestValidateTellsAllAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name, document string
		want           []string
	}{
		{"all stages", surveyed, []string{
			"5:30: defaultRevision.configmap: is not a known kind of revision source (did you mean configMap?)",
			"8:3: elections[0].lok: unknown field (did you mean lock?)",
			`9:9: elections[1].name: "B" is not a valid name (use lower-case letters, digits, dashes and dots; begin and end each part with a letter or digit)`,
			`10:10: elections[1].range: want true or false, got "maybe"`,
			`12:16: elections[2].lock.kind: there is no kind of lock "Leese" (did you mean Lease?)`,
			`14:22: elections[3].priority.policy: unknown priority policy "weigth"`,
			"16:23: elections[3].runners[0].exec.command: is missing",
			"16:24: elections[3].runners[0].exec.comand: unknown field (did you mean command?)",
			`17:9: elections[4].name: "d" is the name of elections[3].name in line 13 too (names must differ)`,
			"19:3: elections[5].rnage: unknown field (did you mean range?)",
			`20:16: elections[5].lock.kind: there is no kind of lock "Confgimap" (did you mean ConfigMap?)`,
			`21:22: elections[5].priority.chain[0]: unknown key "wieght" of a chain`,
			"23:23: elections[5].runners[0].exec.command: is missing",
			"23:24: elections[5].runners[0].exec.comand: unknown field (did you mean command?)",
			"24:17: elections[5].runners[1].exce: is no kind of runner (did you mean exec?)",
		}},
		// A consequence of a mistake is not reported.
		{"a mistyped key beside what needs it", strings.Replace(surveyed[:strings.Index(surveyed, "- name: a")], "configmap", "configMap", 1) +
			"- name: a\n  lock: {sharedwith: client-go, foreign: {renewDeadline: 10s, retryPeriod: 2s}}\n  outtage: failopen\n  failopenFor: 1m\n", []string{
			"8:10: elections[0].lock.sharedwith: unknown field (did you mean sharedWith?)",
			"9:3: elections[0].outtage: unknown field (did you mean outage?)",
		}},
		{"timing that elections build on", strings.Replace(surveyed[:strings.Index(surveyed, "- name: a")], "configmap", "configMap", 1) +
			"- name: a\n  timing: {renewInterval: 20s}\n- name: b\n  runners:\n  - {name: r, exec: {command: [/bin/true], stopGrace: 30s}}\ntiming: {leaseDuration: 1 m, stopGrace: 40s, renewInterval: 3s}\n", []string{
			"12:25: timing.leaseDuration: ",
		}},
		{"timing that does not fit", strings.Replace(surveyed[:strings.Index(surveyed, "- name: a")], "configmap", "configMap", 1) +
			"- name: b\n  runners:\n  - {name: r, exec: {command: [/bin/true], stopGrace: 30s}}\ntiming: {standDown: 0s}\n", []string{
			"10:21: timing.standDown: ",
		}},
		{"a lock of an election that is not understood", strings.Replace(surveyed[:strings.Index(surveyed, "- name: a")], "configmap", "configMap", 1) +
			"- name: a\n  lock: {knd: ConfigMap}\n- name: b\n  lock: {name: a}\n", []string{
			"8:10: elections[0].lock.knd: unknown field (did you mean kind?)",
		}},
		// A mistake in these stages hides later ones.
		{"a document of another kind", "apiVersion: v1\nkind: ConfigMap\ndata: {}\n", []string{
			"1:13: apiVersion: is not of a kind that Primacy knows", "2:7: kind: is not of a kind that Primacy knows",
		}},
		{"anchors", strings.Replace(surveyed, "group: edge", "group: &a edge", 1), []string{"3:8: group: anchors (&a) are not supported"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := add(nil).validate(t.Context(), strings.NewReader(tt.document), &out, validation{file: "-", members: 3})
			got := strings.Split(message(err), "\n")
			for i := range max(len(got), len(tt.want)) {
				switch {
				case i >= len(got):
					t.Errorf("not told: %s", tt.want[i])
				case i >= len(tt.want):
					t.Errorf("told: %s", got[i])
				case !strings.Contains(got[i], tt.want[i]):
					t.Errorf("told %s\nwant %s", got[i], tt.want[i])
				}
			}
			if out.Len() > 0 {
				t.Errorf("it shows %s", out.String())
			}
		})
	}
}
