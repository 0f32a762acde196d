package deploytest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// series are samples of metrics, one a minute, as promtool writes them.
type series map[string]string

// cause is a state of members in which an alert fires, and one in which it does not.
type cause struct {
	alert, page, severity, summary string
	// labels are those of the alert beside the severity.
	labels         map[string]string
	firing, silent series
	// at is when the alert is looked at.
	at string
}

// on adds the labels of a scraped member.
func on(pod, metric, labels string) string {
	return fmt.Sprintf(`%s{namespace="edge-system", pod=%q, %s}`, metric, pod, labels)
}

// leads are two members, by what they say of an election and of failing open.
func leads(a, b, openB string) series {
	return series{
		on("a", "primacy_election_leading", `group="edge", election="work"`): a, on("b", "primacy_election_leading", `group="edge", election="work"`): b,
		on("a", "primacy_election_failing_open", `group="edge", election="work"`): "0x30", on("b", "primacy_election_failing_open", `group="edge", election="work"`): openB,
	}
}

// free adds for how long member b sees nobody lead.
func free(s series, since string) series {
	s[on("b", "primacy_election_leaderless_seconds", `group="edge", election="work"`)] = since
	return s
}

var (
	ofWork     = map[string]string{"namespace": "edge-system", "group": "edge", "election": "work"}
	ofWorkInB  = map[string]string{"namespace": "edge-system", "group": "edge", "election": "work", "pod": "b"}
	ofRunner   = map[string]string{"namespace": "edge-system", "election": "work", "runner": "heartbeat"}
	ofGroup    = map[string]string{"namespace": "edge-system", "group": "edge"}
	ofGroupInB = map[string]string{"namespace": "edge-system", "group": "edge", "pod": "b"}
	seen       = func(metric, labels, values string) series { return series{on("b", metric, labels): values} }
	rollouts   = func(phase, is, moved string) series {
		return series{on("b", "primacy_rollout_phase", `phase="`+phase+`"`): is, on("b", "primacy_rollout_moved_elections", `job="primacy"`): moved}
	}
	stopped = func(of, seconds string) series {
		return series{on("b", "primacy_runner_last_stop_seconds", `runner="heartbeat", kind="func", election="`+of+`"`): seconds}
	}
	stalled = func(because string) map[string]string {
		return map[string]string{"namespace": "edge-system", "because": because}
	}
	stoppedIn = func(of, grace string) map[string]string {
		return map[string]string{"stop_grace": grace, "namespace": "edge-system", "election": of, "pod": "b", "runner": "heartbeat", "kind": "func"}
	}
)

var causes = []cause{
	{alert: "PrimacyTwoLeaders", page: "two-leaders", severity: "critical", summary: "2 members lead work at once", labels: ofWork, at: "5m",
		firing: leads("1x30", "1x30", "0x30"), silent: leads("1x30", "0x30", "0x30")},
	// One that fails open has an alert of its own, and a handover between two scrapes shows both for a moment.
	{alert: "PrimacyTwoLeaders", silent: leads("1x30", "1x30", "1x30"), at: "5m"},
	{alert: "PrimacyTwoLeaders", silent: leads("1 1 1 0x30", "0 0 1x30", "0x30"), at: "2m"},
	// With enabled: false every member leads.
	{alert: "PrimacyTwoLeaders", at: "5m", silent: series{
		on("a", "primacy_election_leading", `group="edge", election="every.where"`): "1x30", on("a", "primacy_election_failing_open", `group="edge", election="every.where"`): "0x30",
		on("b", "primacy_election_leading", `group="edge", election="every.where"`): "1x30", on("b", "primacy_election_failing_open", `group="edge", election="every.where"`): "0x30",
	}},
	// Two groups may have an election of one name.
	{alert: "PrimacyTwoLeaders", at: "5m", silent: series{
		on("a", "primacy_election_leading", `group="edge", election="work"`): "1x30", on("a", "primacy_election_failing_open", `group="edge", election="work"`): "0x30",
		on("b", "primacy_election_leading", `group="core", election="work"`): "1x30", on("b", "primacy_election_failing_open", `group="core", election="work"`): "0x30",
	}},
	{alert: "PrimacyNoLeader", page: "no-leader", severity: "critical", summary: "no member leads work", labels: ofWork, at: "5m",
		firing: free(leads("1 1 0x30", "0x30", "0x30"), "0 0 30+60x30"), silent: free(leads("1 1 0x30", "0 0 0 1x30", "0x30"), "0x30")},
	// The leader is not scraped, and the others see it.
	{alert: "PrimacyNoLeader", silent: free(leads("1 1 0x30", "0x30", "0x30"), "0x30"), at: "5m"},
	{alert: "PrimacyNoMember", page: "no-member", severity: "critical", summary: "Prometheus sees no member in namespace edge-system",
		labels: map[string]string{"namespace": "edge-system"}, at: "10m",
		firing: series{`primacy_elections_leading{namespace="other", pod="a", group="edge"}`: "1x30"}, silent: seen("primacy_elections_leading", `group="edge"`, "0x30")},
	{alert: "PrimacyFailingOpen", page: "failing-open", severity: "critical", summary: "b goes on with work although its term has lapsed", labels: ofWorkInB, at: "8m",
		firing: leads("1x30", "1x30", "0 0 0 0 0 1 0x30"), silent: leads("1x30", "1x30", "0x30")},
	{alert: "PrimacyNearDeadline", page: "near-deadline", severity: "warning", labels: ofWorkInB, at: "8m",
		summary: "b leads work, but its renewals failed for half of the time that a term survives",
		firing:  series{on("b", "primacy_election_jeopardy", `group="edge", election="work"`): "0 0 0 0 0 1 0x30"},
		silent:  series{on("b", "primacy_election_jeopardy", `group="edge", election="work"`): "1 0x30"}},
	{alert: "PrimacyFlapping", page: "flapping", severity: "warning", summary: "work had 15 terms in 15 minutes", labels: ofWork, at: "20m",
		firing: series{on("a", "primacy_election_terms_total", `group="edge", election="work"`): "0+1x30"},
		silent: series{on("a", "primacy_election_terms_total", `group="edge", election="work"`): "0 0 0 1x5 2x30", on("b", "primacy_election_terms_total", `group="edge", election="work"`): "1x30"}},
	{alert: "PrimacyCrashLoop", page: "crash-loop", severity: "warning", summary: "runner heartbeat of work ended 10 times by itself in 10 minutes", labels: ofRunner, at: "20m",
		firing: series{on("a", "primacy_runner_failures_total", `election="work", runner="heartbeat", kind="func", reason="error"`): "0+1x30"},
		silent: series{on("a", "primacy_runner_failures_total", `election="work", runner="heartbeat", kind="func", reason="error"`): "0x10 1x30"}},
	{alert: "PrimacyStopOverrun", page: "stop-overrun", severity: "warning", summary: "runner heartbeat of work took 6s to stop; its stopGrace is 5s",
		labels: stoppedIn("work", "5s"), at: "20m", firing: stopped("work", "1x10 6x30"), silent: stopped("work", "1x10 4x30")},
	{alert: "PrimacyStopOverrun", page: "stop-overrun", severity: "warning", summary: "runner heartbeat of slow took 4s to stop; its stopGrace is 2s",
		labels: stoppedIn("slow", "2s"), at: "20m", firing: stopped("slow", "1x10 4x30"), silent: stopped("slow", "4x40")},
	{alert: "PrimacyHijack", page: "hijack", severity: "critical", summary: "somebody's writes to locks of group edge ended terms in the last 15 minutes",
		labels: ofGroup, at: "20m", firing: seen("primacy_hijacks_total", `group="edge", reason="lock lost to another holder"`, "0x15 1x30"), silent: seen("primacy_hijacks_total", `group="edge", reason="lock lost to another holder"`, "0 0 1x40")},
	{alert: "PrimacyDivided", page: "divided", severity: "warning", summary: "members of group edge see different preferred revisions",
		labels: ofGroup, at: "20m", firing: seen("primacy_divided_preference", `group="edge"`, "1x40"), silent: seen("primacy_divided_preference", `group="edge"`, "0x18 1x20")},
	{alert: "PrimacyPreferredNotLeading", page: "preferred-not-leading", severity: "warning", summary: "work is led, but not by whom it prefers",
		labels: ofWork, at: "20m", firing: seen("primacy_election_not_preferred", `group="edge", election="work"`, "1x40"), silent: seen("primacy_election_not_preferred", `group="edge", election="work"`, "0x12 1x30")},
	{alert: "PrimacyReloadRefused", page: "reload-refused", severity: "warning", summary: "b refuses the changed configuration, and goes by the one before",
		labels: map[string]string{"namespace": "edge-system", "pod": "b", "job": "primacy"}, at: "20m",
		firing: seen("primacy_reload_refused", `job="primacy"`, "0x10 1x30"), silent: seen("primacy_reload_refused", `job="primacy"`, "1x10 0x30")},
	{alert: "PrimacyRolloutStalled", page: "rollout-stalled", severity: "warning", summary: "the rollout in edge-system is Degraded: checks have failed",
		labels: stalled("degraded"), at: "20m", firing: rollouts("Degraded", "1x40", "2x40"), silent: rollouts("Paused", "1x40", "2x40")},
	{alert: "PrimacyRolloutStalled", page: "rollout-stalled", severity: "warning", summary: "the rollout in edge-system should move elections, and has moved none for 30 minutes",
		labels: stalled("still"), at: "90m", firing: rollouts("Progressing", "1x100", "0x10 2x90"), silent: rollouts("Progressing", "1x100", "0x50 2x50")},
	// No controller begins it: there is none, or it lacks a right. Nobody counts what has moved then.
	{alert: "PrimacyRolloutStalled", page: "rollout-stalled", severity: "warning", summary: "the rollout in edge-system should move elections, and has moved none for 30 minutes",
		labels: stalled("still"), at: "90m", firing: seen("primacy_rollout_phase", `phase="Pending"`, "1x100"), silent: seen("primacy_rollout_phase", `phase="Pending"`, "1x20 0x80")},
	{alert: "PrimacyPreferenceStale", page: "preference-stale", severity: "warning", at: "20m",
		summary: "b has not read the source default of preferred revisions for 10m 0s", labels: map[string]string{"namespace": "edge-system", "pod": "b", "source": "default"},
		firing: series{on("b", "primacy_preferred_revision_age_seconds", `source="default"`): "0x10 60+60x30"},
		silent: series{on("b", "primacy_preferred_revision_age_seconds", `source="default"`): "0x10 60+60x3 0x30"}},
}

// together are causes for members with metrics of all elections together.
var together = []cause{
	{alert: "PrimacyNoMember", page: "no-member", severity: "critical", summary: "Prometheus sees no member in namespace edge-system",
		labels: map[string]string{"namespace": "edge-system"}, at: "10m",
		firing: series{`primacy_elections_leading{namespace="other", pod="a", group="edge"}`: "1x30"}, silent: seen("primacy_elections_leading", `group="edge"`, "0x30")},
	{alert: "PrimacyNoLeader", page: "no-leader", severity: "critical", summary: "no member leads one of the elections of group edge, for 2m 0s", labels: ofGroup, at: "12m",
		firing: seen("primacy_leaderless_seconds", `group="edge"`, "0x10 60+60x10"), silent: seen("primacy_leaderless_seconds", `group="edge"`, "0x10 30 60 0x30")},
	// A member that is cut off sees no sign of life of anybody.
	{alert: "PrimacyNoLeader", at: "12m", silent: series{on("a", "primacy_leaderless_seconds", `group="edge"`): "0x30", on("b", "primacy_leaderless_seconds", `group="edge"`): "0x10 60+60x10"}},
	{alert: "PrimacyFailingOpen", page: "failing-open", severity: "critical", summary: "b goes on with 3 elections although their terms have lapsed", labels: ofGroupInB, at: "8m",
		firing: seen("primacy_elections_failing_open", `group="edge"`, "0 0 0 0 0 3 0x30"), silent: seen("primacy_elections_failing_open", `group="edge"`, "3 0x30")},
	{alert: "PrimacyNearDeadline", page: "near-deadline", severity: "warning", labels: ofGroupInB, at: "8m",
		summary: "b leads 2 elections, but its renewals failed for half of the time that a term survives",
		firing:  seen("primacy_elections_jeopardy", `group="edge"`, "0 0 0 0 0 2 0x30"), silent: seen("primacy_elections_jeopardy", `group="edge"`, "2 0x30")},
	{alert: "PrimacyPreferredNotLeading", page: "preferred-not-leading", severity: "warning", summary: "4 elections of group edge are led, but not by whom they prefer",
		labels: ofGroup, at: "20m", firing: seen("primacy_elections_not_preferred", `group="edge"`, "4x40"), silent: seen("primacy_elections_not_preferred", `group="edge"`, "0x12 4x30")},
}

// ofMembers are causes that need no metrics of elections.
func ofMembers() []cause {
	return slices.DeleteFunc(slices.Clone(causes), func(c cause) bool {
		return !slices.Contains([]string{"PrimacyHijack", "PrimacyDivided", "PrimacyReloadRefused", "PrimacyRolloutStalled", "PrimacyPreferenceStale"}, c.alert)
	})
}

// TestAlerts has promtool check the generated rules, and play the cause of each alert.
func TestAlerts(t *testing.T) {
	promtool := needed(t, "PROMTOOL", "make test-deploy fetches it")
	each := plays(t, promtool, generate(t, "alerts", "testdata/alerts.yaml"), causes)
	text := generate(t, "alerts", "testdata/totals.yaml")
	totals := plays(t, promtool, text, slices.Concat(together, ofMembers()))

	head, _, _ := strings.Cut(text, "\napiVersion")
	for alert := range each {
		if totals[alert] == strings.Contains(head, alert) {
			t.Errorf("with totals there is %s: %v; the file begins with\n%s", alert, totals[alert], head)
		}
	}
}

// plays returns the names of the alerts, each of which some cause must fire.
func plays(t *testing.T, promtool, text string, causes []cause) map[string]bool {
	t.Helper()
	var rule struct {
		Spec struct {
			Groups []struct {
				Name  string           `json:"name"`
				Rules []map[string]any `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(text), &rule); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), rule.Spec)
	t.Log(run(t, promtool, "check", "rules", "--lint-fatal", filepath.Join(dir, "rules.yaml")))

	fired, names := map[string]bool{}, map[string]bool{}
	var tests []any
	for _, c := range causes {
		if c.firing != nil {
			fired[c.alert] = true
			labels := map[string]string{"severity": c.severity}
			for name, value := range c.labels {
				labels[name] = value
			}
			tests = append(tests, played(c, c.firing, []any{map[string]any{"exp_labels": labels, "exp_annotations": map[string]string{
				"summary": c.summary, "runbook_url": "https://github.com/primacy-dev/primacy/blob/main/docs/runbooks/" + c.page + ".md",
			}}}))
		}
		tests = append(tests, played(c, c.silent, []any{}))
	}
	write(t, filepath.Join(dir, "tests.yaml"), map[string]any{"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m", "tests": tests})
	t.Log(run(t, promtool, "test", "rules", filepath.Join(dir, "tests.yaml")))

	for _, r := range rule.Spec.Groups[0].Rules {
		name := r["alert"].(string)
		if names[name] = true; !fired[name] {
			t.Errorf("no test fires %s", name)
		}
	}
	return names
}

func played(c cause, s series, alerts []any) map[string]any {
	var input []any
	for name, values := range s {
		input = append(input, map[string]string{"series": name, "values": values})
	}
	return map[string]any{"interval": "1m", "input_series": input, "alert_rule_test": []any{
		map[string]any{"eval_time": c.at, "alertname": c.alert, "exp_alerts": alerts},
	}}
}

func write(t *testing.T, file string, content any) {
	t.Helper()
	text, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

var (
	metricNames = regexp.MustCompile(`primacy_[a-z_]+`)
	pageNames   = regexp.MustCompile(`docs/runbooks/([-a-z]+\.md)`)
)

// TestAlertsAreDocumented checks that each alert has a page that begins with its name, and that members have its metrics.
func TestAlertsAreDocumented(t *testing.T) {
	metrics, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	text := generate(t, "alerts", "testdata/alerts.yaml") + generate(t, "alerts", "testdata/totals.yaml")
	var pages []string
	for _, part := range strings.Split(text, "- alert: ")[1:] {
		alert, _, _ := strings.Cut(part, "\n")
		page := pageNames.FindStringSubmatch(part)[1]
		pages = append(pages, page)
		if runbook, err := os.ReadFile("../../docs/runbooks/" + page); err != nil || !strings.HasPrefix(string(runbook), "# "+alert+"\n") {
			t.Errorf("docs/runbooks/%s is not the page of %s: %v", page, alert, err)
		}
		for _, m := range metricNames.FindAllString(part, -1) {
			if !strings.Contains(string(metrics), "| `"+m+"` |") {
				t.Errorf("%s: no member has the metric %s", alert, m)
			}
		}
	}
	files, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err != nil || strings.HasPrefix(string(text), "# Primacy") && !slices.Contains(pages, filepath.Base(f)) {
			t.Errorf("%s is the page of no alert: %v", f, err)
		}
	}
}
