package app

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/cmd/primacy/endpoints"
	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/mapstest"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
	runnermetrics "github.com/primacy-dev/primacy/pkg/runners/metrics"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

var update = flag.Bool("update", false, "write the generated parts of docs anew")

// TestReference compares the generated parts of pages with what the program knows. -update writes them.
func TestReference(t *testing.T) {
	root := add(nil).schema()
	election := root.Property("elections").Items
	runner := election.Property("runners").Items
	sources := root.Property("defaultRevision").Either[1]
	for page, parts := range map[string]map[string]string{
		"configuration.md": {
			"process":   keys(root, "", "timing", "elections", "defaultRevision"),
			"timing":    keys(root.Property("timing").Schema, "timing."),
			"profiles":  profileTable(t),
			"elections": keys(election, "", "timing", "runners"),
			"runners":   keys(runner, "", "exec"),
			"exec":      keys(runner.Property("exec").Schema, "exec."),
			"sources":   keys(sources, ""),
		},
		"metrics.md": {"metrics": metricsTable(t)},
	} {
		file := filepath.Join("..", "..", "..", "docs", page)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		is, err := filled(string(text), parts)
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		if is == string(text) {
			continue
		}
		if *update {
			if err := os.WriteFile(file, []byte(is), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("docs/%s is not what the types say (go test ./cmd/primacy/app -run TestReference -update writes it):\n%s", page, differing(string(text), is))
	}
}

var generated = regexp.MustCompile(`(?s)(<!-- generated: (\w+) -->\n).*?(\n<!-- until here -->)`)

// filled is a page with all its parts; each part must be on it once.
func filled(page string, parts map[string]string) (string, error) {
	var seen, unknown []string
	page = generated.ReplaceAllStringFunc(page, func(old string) string {
		m := generated.FindStringSubmatch(old)
		seen = append(seen, m[2])
		if parts[m[2]] == "" {
			unknown = append(unknown, m[2])
		}
		return m[1] + "\n" + parts[m[2]] + m[3]
	})
	slices.Sort(seen)
	if unknown != nil || len(seen) != len(parts) || len(slices.Compact(seen)) != len(parts) {
		return "", fmt.Errorf("it has the generated parts %q, %q of them unknown; there are %d", seen, unknown, len(parts))
	}
	return page, nil
}

// differing are the lines that only one of two texts has.
func differing(before, after string) string {
	var b strings.Builder
	old, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range old {
		if !slices.Contains(is, line) {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(old, line) {
			fmt.Fprintf(&b, "+ %s\n", line)
		}
	}
	return b.String()
}

// keys is a table of all keys of a mapping and of the mappings below it. It does not descend into the given keys.
func keys(s *schema.Schema, prefix string, apart ...string) string {
	var b strings.Builder
	b.WriteString("| key | value | default | meaning, and what is refused |\n| --- | --- | --- | --- |\n")
	var walk func(s *schema.Schema, prefix string)
	walk = func(s *schema.Schema, prefix string) {
		for i := range s.Properties {
			p := &s.Properties[i]
			fmt.Fprintf(&b, "| `%s%s` | %s | %s | %s |\n", prefix, p.Name, called(p.Schema), otherwise(p), p.Description)
			if slices.Contains(apart, p.Name) {
				continue
			}
			below, at := p.Schema, prefix+p.Name+"."
			if below.Items != nil {
				below, at = below.Items, prefix+p.Name+"[]."
			}
			for _, either := range p.Either {
				if either.Type == "object" {
					below = either
				}
			}
			walk(below, at)
		}
	}
	walk(s, prefix)
	return b.String()
}

// called is what a value is, for people.
func called(s *schema.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case s.Type == "array" && s.Items.Type == "object":
		return "list"
	case s.Type == "array" && len(s.Items.Enum) > 0:
		return "list of " + called(s.Items)
	case s.Type == "array":
		return "list of texts"
	case s.Called != "":
		return s.Called
	}
	return map[string]string{"object": "mapping", "string": "text", "boolean": "`true`, `false`", "integer": "whole number", "number": "number"}[s.Type]
}

func otherwise(p *schema.Property) string {
	switch {
	case p.Required:
		return "required"
	case p.Default != nil:
		return fmt.Sprintf("`%v`", p.Default)
	}
	return p.Otherwise
}

func profileTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| profile | leaseDuration | renewInterval | stopGrace | nominateDelay | preemptDelay | minHold | standDown | drift |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, name := range record.Profiles() {
		p, err := record.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "| `%s` | %v | %v | %v | %v | %v | %v | %v | %v |\n", name,
			p.LeaseDuration, p.RenewInterval, p.StopGrace, p.NominateDelay, p.PreemptDelay, p.MinHold, p.StandDown, p.Drift)
	}
	return b.String()
}

// distributions are the histograms that a metrics.Collector makes at each scrape.
var distributions = []string{
	"primacy_handover_seconds", "primacy_takeover_seconds", "primacy_stop_seconds", "primacy_beat_seconds", "primacy_write_seconds",
}

// someMember is a member that does not run, with series for each election.
func someMember(t *testing.T) *member {
	m, err := election.NewManager(election.Config{
		Group: "edge", Host: "m", Member: election.Member{Revision: "stable"}, Locks: memory.New(clock.Boottime()).Store(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &member{manager: m, process: &config.Process{Configuration: &config.Configuration{}}, requests: metrics.NewRequests(),
		steering: steering.New(mapstest.New(), "edge", "edge", revisions.NewSwitch(nil), clock.Boottime(), nil), roster: newRoster()}
}

var described = regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: (".*?"), unit: ".*?", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// metricsTable has each metric that a member registers. A metric's type is that of its collector, or follows from
// its name, as Prometheus has it: a counter ends with _total.
func metricsTable(t *testing.T) string {
	of := map[string][3]string{}
	for _, c := range append(append(someMember(t).collectors(), runnermetrics.Totals(&figures{})), endpoints.Metrics()...) {
		to := make(chan *prometheus.Desc)
		go func() { // joined by the range below
			defer close(to)
			c.Describe(to)
		}()
		for d := range to {
			m := described.FindStringSubmatch(d.String())
			if m == nil {
				t.Fatalf("cannot read %v", d)
			}
			kind := "gauge"
			switch c.(type) {
			case *prometheus.HistogramVec, prometheus.Histogram:
				kind = "histogram"
			case *prometheus.SummaryVec:
				kind = "summary"
			case *metrics.Collector:
				if slices.Contains(distributions, m[1]) {
					kind = "histogram"
				}
			}
			if strings.HasSuffix(m[1], "_total") {
				kind = "counter"
			}
			var labels []string
			for _, l := range append(strings.Split(m[3], ","), strings.Split(m[4], ",")...) {
				if l = strings.TrimSuffix(l, `="edge"`); l != "" {
					labels = append(labels, "`"+strings.ReplaceAll(l, `"`, "")+"`")
				}
			}
			help, err := strconv.Unquote(m[2])
			if err != nil {
				t.Fatal(err)
			}
			row := [3]string{kind, strings.Join(labels, ", "), help}
			if before, twice := of[m[1]]; twice && before[1] != row[1] { // one metric, once for each value of a label
				row[1] = before[1] + "; " + row[1]
			}
			of[m[1]] = row
		}
	}
	var rows []string
	for name, row := range of {
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, row[0], row[1], row[2]))
	}
	slices.Sort(rows)
	return "| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "")
}
