package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/primacy-dev/primacy/config"
)

func newGenerateAlerts() *cobra.Command {
	var podNamespace string
	c := &cobra.Command{
		Use:   "alerts -f FILE",
		Short: "Print alerts for members with a configuration, for Prometheus",
		Long: `Print a PrometheusRule, the object by which the Prometheus operator loads alerts. Thresholds come
from the configuration: how long an election may be free, and how long work may take to stop. Each
alert names a page that says what it means and what to do. With http.metrics: totals, alerts are
about all elections together, and the first line names those that need the metrics of each.

A Prometheus without the operator loads what is below spec, as a file of rules. The alerts expect
that scrapes add the label namespace, that of the Pods. Generate them anew when timings change.`,
		Example: `  primacy generate alerts -f primacy.yaml | kubectl apply -f -`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := config.LoadProcess(c.Flags())
			if err != nil {
				return hintMissing(err, "-f and PRIMACY_CONFIG")
			}
			return generateAlerts(c.OutOrStdout(), p, podNamespace)
		},
	}
	addSettings(c.Flags(), "config", "namespace", "group", "revision")
	c.Flags().StringVar(&podNamespace, "pod-namespace", "", "namespace of the members' Pods; by default that of the locks")
	return c
}

func generateAlerts(out io.Writer, p *config.Process, podNamespace string) error {
	switch {
	case p.Configuration == nil:
		return &usageError{errors.New("no configuration (give -f FILE, or set PRIMACY_CONFIG)")}
	case cmp.Or(podNamespace, p.Namespace) == "":
		return &usageError{errors.New("no namespace of the Pods (give --pod-namespace, or set namespace in the configuration)")}
	}
	a := alertsOf{namespace: cmp.Or(podNamespace, p.Namespace), configuration: p.Configuration}
	text, err := kubeyaml.Marshal(a.rule(p.Group))
	if err != nil {
		return fmt.Errorf("print the alerts: %w", err)
	}
	head := fmt.Sprintf("Alerts for members of group %s that run %s, by `primacy generate alerts`.", p.Group, filepath.Base(p.Configuration.File))
	if a.totals() {
		head += fmt.Sprintf(" Without metrics of each election there are none of %s.", strings.Join(needEach, ", "))
	}
	_, err = fmt.Fprintf(out, "%s%s", comment(head), text)
	return err
}

// prometheusRule is the part of the operator's PrometheusRule that we write.
type prometheusRule struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Groups []alertGroup `json:"groups"`
	} `json:"spec"`
}

type alertGroup struct {
	Name  string  `json:"name"`
	Rules []alert `json:"rules"`
}

type alert struct {
	Alert string `json:"alert"`
	Expr  string `json:"expr"`
	For   string `json:"for,omitempty"`
	// Labels are the severity, and what tells two alerts of one name apart.
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// alertsOf are the alerts for members with a configuration.
type alertsOf struct {
	namespace     string
	configuration *config.Configuration
}

// runbooks is where the pages are that say what to do.
const runbooks = "https://github.com/primacy-dev/primacy/blob/main/docs/runbooks/"

// Bounds of the alerts. Scrapes that are up to a minute apart must not make two members look like leaders at once.
const (
	leastWait     = time.Minute
	beyondScrapes = 2 * time.Minute
)

func (a alertsOf) rule(group string) prometheusRule {
	r := prometheusRule{APIVersion: "monitoring.coreos.com/v1", Kind: "PrometheusRule"}
	r.Metadata.Name, r.Metadata.Namespace = "primacy-"+group, a.namespace
	r.Spec.Groups = []alertGroup{{Name: "primacy-" + group, Rules: a.alerts()}}
	return r
}

// How urgent an alert is.
const critical, warning = "critical", "warning"

// alerts are those that the configuration makes possible.
func (a alertsOf) alerts() []alert {
	all := []alert{a.alert("PrimacyNoMember", "no-member", critical, beyondScrapes,
		"absent(%s)", "Prometheus sees no member in namespace "+a.namespace, "primacy_elections_leading")}
	if a.totals() {
		all = append(all, a.ofAllElections()...)
	} else {
		all = append(all, a.ofEachElection()...)
	}
	return append(all, a.ofGroup()...)
}

// totals says that members have no metrics of each election.
func (a alertsOf) totals() bool { return a.configuration.HTTP.Metrics == config.SeriesTotals }

// needEach are the alerts that need metrics of each election: members do not count for all together what they are about.
var needEach = []string{"PrimacyTwoLeaders", "PrimacyFlapping", "PrimacyCrashLoop", "PrimacyStopOverrun"}

func (a alertsOf) mayFailOpen() bool {
	return slices.ContainsFunc(a.configuration.Elections, func(e config.Election) bool { return e.FailopenFor > 0 })
}

func (a alertsOf) ofEachElection() []alert {
	all := []alert{
		a.alert("PrimacyTwoLeaders", "two-leaders", critical, beyondScrapes,
			"sum by (namespace, group, election) (%s and %s == 0) > 1",
			"{{ $value }} members lead {{ $labels.election }} at once", "primacy_election_leading", "primacy_election_failing_open"),
		a.alert("PrimacyNoLeader", "no-leader", critical, a.mayBeFree(),
			"sum by (namespace, group, election) (%s) == 0 and max by (namespace, group, election) (%s) > 0", // the leader may only not be scraped
			"no member leads {{ $labels.election }}", "primacy_election_leading", "primacy_election_leaderless_seconds"),
	}
	if a.mayFailOpen() {
		all = append(all, a.alert("PrimacyFailingOpen", "failing-open", critical, 0,
			"max_over_time(%s[5m]) == 1", "{{ $labels.pod }} goes on with {{ $labels.election }} although its term has lapsed", "primacy_election_failing_open"))
	}
	all = append(all,
		a.alert("PrimacyNearDeadline", "near-deadline", warning, 0,
			"max_over_time(%s[5m]) == 1", "{{ $labels.pod }} leads {{ $labels.election }}, but its renewals failed for half of the time that a term survives", "primacy_election_jeopardy"),
		a.alert("PrimacyFlapping", "flapping", warning, 0,
			"sum by (namespace, group, election) (increase(%s[15m])) > 5", "{{ $labels.election }} had {{ $value | printf \"%.0f\" }} terms in 15 minutes", "primacy_election_terms_total"),
		a.alert("PrimacyCrashLoop", "crash-loop", warning, 0,
			"sum by (namespace, election, runner) (increase(%s[10m])) > 3", "runner {{ $labels.runner }} of {{ $labels.election }} ended {{ $value | printf \"%.0f\" }} times by itself in 10 minutes", "primacy_runner_failures_total"),
		a.alert("PrimacyPreferredNotLeading", "preferred-not-leading", warning, a.mayWait(),
			"max by (namespace, group, election) (%s) == 1", "{{ $labels.election }} is led, but not by whom it prefers", "primacy_election_not_preferred"),
	)
	return append(all, a.stopOverruns()...)
}

// ofAllElections are what stands in for the alerts of each election where members count all elections together.
func (a alertsOf) ofAllElections() []alert {
	all := []alert{a.alert("PrimacyNoLeader", "no-leader", critical, 0,
		fmt.Sprintf("min by (namespace, group) (%%s) > %g", a.mayBeFree().Seconds()), // one member alone may be cut off
		"no member leads one of the elections of group {{ $labels.group }}, for {{ $value | humanizeDuration }}", "primacy_leaderless_seconds")}
	if a.mayFailOpen() {
		all = append(all, a.alert("PrimacyFailingOpen", "failing-open", critical, 0,
			"max_over_time(%s[5m]) > 0", "{{ $labels.pod }} goes on with {{ $value }} elections although their terms have lapsed", "primacy_elections_failing_open"))
	}
	return append(all,
		a.alert("PrimacyNearDeadline", "near-deadline", warning, 0,
			"max_over_time(%s[5m]) > 0", "{{ $labels.pod }} leads {{ $value }} elections, but its renewals failed for half of the time that a term survives", "primacy_elections_jeopardy"),
		a.alert("PrimacyPreferredNotLeading", "preferred-not-leading", warning, a.mayWait(),
			"max by (namespace, group) (%s) > 0", "{{ $value }} elections of group {{ $labels.group }} are led, but not by whom they prefer", "primacy_elections_not_preferred"))
}

// ofGroup are alerts about what members see of their group, and about the configuration.
func (a alertsOf) ofGroup() []alert {
	all := []alert{
		a.alert("PrimacyHijack", "hijack", critical, 0,
			"sum by (namespace, group) (increase(%s[15m])) > 0", "somebody's writes to locks of group {{ $labels.group }} ended terms in the last 15 minutes", "primacy_hijacks_total"),
		a.alert("PrimacyDivided", "divided", warning, 5*time.Minute,
			"max by (namespace, group) (%s) == 1", "members of group {{ $labels.group }} see different preferred revisions", "primacy_divided_preference"),
		a.alert("PrimacyPreferenceStale", "preference-stale", warning, 0,
			"%s > 300", "{{ $labels.pod }} has not read the source {{ $labels.source }} of preferred revisions for {{ $value | humanizeDuration }}", "primacy_preferred_revision_age_seconds"),
		a.alert("PrimacyReloadRefused", "reload-refused", warning, time.Minute,
			"%s == 1", "{{ $labels.pod }} refuses the changed configuration, and goes by the one before", "primacy_reload_refused"),
	}
	phase := func(names string) string { return a.selected("primacy_rollout_phase", "phase=~"+strconv.Quote(names)) }
	degraded := a.alert("PrimacyRolloutStalled", "rollout-stalled", warning, 0, "", "the rollout in {{ $labels.namespace }} is Degraded: checks have failed")
	degraded.Labels["because"] = "degraded"
	degraded.Expr = fmt.Sprintf("max by (namespace) (%s) == 1", phase("Degraded"))
	still := a.alert("PrimacyRolloutStalled", "rollout-stalled", warning, 30*time.Minute, "", "the rollout in {{ $labels.namespace }} should move elections, and has moved none for 30 minutes")
	still.Labels["because"] = "still"
	still.Expr = fmt.Sprintf("max by (namespace) (%s) == 1 unless max by (namespace) (changes(%s[30m])) > 0", phase("Pending|Progressing"), a.selected("primacy_rollout_moved_elections")) // Pending: no controller begins it
	return append(all, degraded, still)
}

// mayWait is how long an election rightly stays with a member that it does not prefer.
func (a alertsOf) mayWait() time.Duration {
	longest := 10 * time.Minute
	for _, e := range a.led() {
		longest = max(longest, 2*(e.Timing.StandDown+e.Timing.MinHold))
	}
	return longest
}

// alert fills the metrics into an expression, each with the namespace.
func (a alertsOf) alert(name, page, severity string, lasting time.Duration, expr, summary string, metrics ...string) alert {
	names := make([]any, len(metrics))
	for i, m := range metrics {
		names[i] = a.selected(m)
	}
	r := alert{
		Alert: name, Expr: fmt.Sprintf(expr, names...), Labels: map[string]string{"severity": severity},
		Annotations: map[string]string{"summary": summary, "runbook_url": runbooks + page + ".md"},
	}
	if lasting > 0 {
		r.For = fmt.Sprintf("%ds", int(lasting.Seconds()))
	}
	return r
}

// selected is a metric of our members, with further conditions. It leaves out the elections with `enabled: false`, in
// which every member leads.
func (a alertsOf) selected(metric string, conditions ...string) string {
	all := []string{"namespace=" + strconv.Quote(a.namespace)}
	if everywhere := a.everywhere(); everywhere != nil && strings.HasPrefix(metric, "primacy_election_") {
		all = append(all, "election!~"+strconv.Quote(strings.Join(everywhere, "|")))
	}
	return metric + "{" + strings.Join(append(all, conditions...), ", ") + "}"
}

// everywhere are the names of the elections in which every member leads, as regular expressions.
func (a alertsOf) everywhere() (names []string) {
	for _, e := range a.configuration.Elections {
		if e.Disabled {
			names = append(names, regexp.QuoteMeta(e.Name))
		}
	}
	return names
}

func (a alertsOf) led() []config.Election {
	return slices.DeleteFunc(slices.Clone(a.configuration.Elections), func(e config.Election) bool { return e.Disabled })
}

// mayBeFree is how long nobody needs to lead: even after a death that nobody proves, others lead within two leaseDurations.
func (a alertsOf) mayBeFree() time.Duration {
	longest := leastWait
	for _, e := range a.led() {
		longest = max(longest, 2*e.Timing.LeaseDuration)
	}
	return longest
}

// nearlyAll of its grace is what a program may take that is killed at the end of it: runners are told to stop, and killed, a little sooner.
const nearlyAll = .85

// stopOverruns has one alert for each stopGrace, about stops of the last 15 minutes.
func (a alertsOf) stopOverruns() (all []alert) {
	elections := map[time.Duration][]string{}
	for _, e := range a.led() {
		if len(e.Runners) > 0 {
			elections[e.Timing.StopGrace] = append(elections[e.Timing.StopGrace], e.Name)
		}
	}
	for _, grace := range slices.Sorted(maps.Keys(elections)) {
		var which []string
		if len(elections) > 1 {
			which = []string{"election=~" + strconv.Quote(strings.Join(elections[grace], "|"))}
		}
		r := a.alert("PrimacyStopOverrun", "stop-overrun", warning, 0, "", "")
		r.Labels["stop_grace"] = grace.String()
		took := a.selected("primacy_runner_last_stop_seconds", which...)
		r.Expr = fmt.Sprintf("%[1]s >= %[2]g unless %[1]s == %[1]s offset 15m", took, nearlyAll*grace.Seconds())
		r.Annotations["summary"] = fmt.Sprintf("runner {{ $labels.runner }} of {{ $labels.election }} took {{ $value | humanizeDuration }} to stop; its stopGrace is %v", grace)
		all = append(all, r)
	}
	return all
}
