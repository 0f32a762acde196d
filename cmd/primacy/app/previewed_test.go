package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// These are all kinds of elections and all policies. Tests replace NAME by the election's name.
var (
	previewedKinds = []struct{ name, fields string }{
		{"session", ""},
		{"record", "lock: {renewal: record}, "},
		{"configmap", "lock: {kind: ConfigMap}, "},
		{"shared", "lock: {sharedWith: client-go}, "},
		{"migrated", "lock: {migrateFrom: {kind: ConfigMap}}, "},
		{"renamed", "lock: {name: NAME-new, migrateFrom: {kind: Lease, name: NAME-old}}, "},
		{"range", "range: true, "},
		{"disabled", "enabled: false, "},
		{"minhold", "timing: {minHold: 30s}, "},
		{"delayed", "timing: {preemptDelay: 20s}, "},
		{"long", "lock: {renewal: record}, timing: {leaseDuration: 12s}, "},
		{"failopen", "outage: failopen, "},
		{"scoped", "scope: revision, "},
		{"pinned", ""},
	}
	previewedPolicies = []struct{ name, fields string }{
		{"revision-location", "policy: revision-location"},
		{"none", "policy: none"},
		{"weight", "policy: weight"},
		{"preferred", "chain: [preferred]"},
		{"weight-preferred", "chain: [weight, preferred]"},
		{"location-weight", "chain: [location, weight]"},
	}
)

// previewedDocument has an election of each kind with each policy. In a disabled election the work
// of each member has a name of its own.
func previewedDocument(weight int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "group: edge\nmember: {weight: %d}\ndefaultRevision: {configMap: {name: revisions, key: default}}\ntiming: {profile: fast}\nelections:\n", weight)
	for _, k := range previewedKinds {
		for _, policy := range previewedPolicies {
			name := k.name + "." + policy.name
			fmt.Fprintf(&b, "- {name: %s, bootstrap: immediate, %spriority: {%s}, runners: [{name: w, work: {alone: %v}}]}\n",
				name, strings.ReplaceAll(k.fields, "NAME", name), policy.fields, k.name == "disabled")
		}
	}
	return b.String()
}

// previewed is a group in a bubble, and the commands with the same configuration.
type previewed struct {
	*bubble
	members []*follower
	// tells is the member whose configuration the commands get: the member that joined last.
	tells *follower
}

func newPreviewed(t *testing.T, byDefault string) *previewed {
	p := &previewed{bubble: newBubble(t)}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "revisions"}, Data: map[string]string{"default": byDefault}}
	if _, err := p.configMaps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// join starts a member with a document, and lets it settle.
func (p *previewed) join(name, document, revision string) *follower {
	p.t.Helper()
	m := p.start(name, document, "--revision", revision)
	p.members, p.tells = append(p.members, m), m
	wait(40 * time.Second)
	return m
}

// byName is a store that can also watch single locks by name.
type byName struct{ *memory.Store }

func (s byName) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	return s.Watch(ctx, lock.Only(names, deliver))
}

// command is a connected command with the configuration of p.tells.
func (p *previewed) command(out *bytes.Buffer) groupCommand {
	process := p.tells.process
	g := groupCommand{process: process, group: process.Group, core: p.configMaps}
	g.out, g.notes, g.namespace = out, new(bytes.Buffer), "default"
	g.realm = status.Realm{Leases: p.leases.Store(), ConfigMaps: byName{p.maps.Store()}}
	g.selection, g.disabled = selectionOf(process)
	g.rulebook = rulebookOf(process)
	return g
}

// report is what `primacy status` shows.
func (p *previewed) report() status.Report {
	p.t.Helper()
	g := p.command(nil)
	r, err := status.Look(p.t.Context(), g.realm, g.selection)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

var yes = &confirmation{yes: true}

// steer carries out a command that changes what elections prefer, and returns what it said.
func (p *previewed) steer(run func(context.Context, *steerCommand) error) (said effect) {
	p.t.Helper()
	var out bytes.Buffer
	format := outputJSON
	s := &steerCommand{groupCommand: p.command(&out), ways: &steerWays{yes, new(dryRun), &format}}
	err := s.see(p.t.Context())
	if err == nil {
		err = run(p.t.Context(), s)
	}
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &said)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return said
}

// pin pins each of the named elections, or with the zero Pin unpins it, and returns what the command said.
func (p *previewed) pin(pin rollout.Pin, names ...string) (said effect) {
	p.t.Helper()
	for _, name := range names {
		pin.Election = name
		one := p.steer(func(ctx context.Context, s *steerCommand) error {
			return s.replan(ctx, name, "pin", func(plan rollout.Plan) (rollout.Plan, error) {
				if pin.Revision+pin.Member == "" {
					return plan.Unpin(name)
				}
				return plan.PinTo(pin)
			})
		})
		said.Elections = append(said.Elections, one.Elections...)
	}
	return said
}

// begin carries out a start or an undo, and returns what it said.
func (p *previewed) begin(spec rollout.Spec) (said analysis) {
	p.t.Helper()
	var out bytes.Buffer
	r := &rolloutCommand{p.command(&out)}
	err := r.start(p.t.Context(), starting{spec: spec, format: outputJSON, confirm: yes})
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &said)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return said
}

// word runs a word such as pause, and returns what the command announced.
func (p *previewed) word(use string) (told string) {
	p.t.Helper()
	for _, w := range rolloutWords() {
		if w.full != nil && use == w.use+" --full" {
			w, use = *w.full, w.use
		}
		if w.use != use {
			continue
		}
		for _, dry := range []dryRun{true, false} {
			var out bytes.Buffer
			r := &rolloutCommand{p.command(&out)}
			if err := r.obey(p.t.Context(), w, yes, dry); err != nil {
				p.t.Fatal(err)
			}
			if dry {
				told = out.String()
			}
		}
		return told
	}
	p.t.Fatalf("there is no word %q", use)
	return ""
}

func (p *previewed) plan() rollout.Plan {
	p.t.Helper()
	stored, err := steering.Load(p.t.Context(), p.configMaps, "edge")
	if err != nil {
		p.t.Fatal(err)
	}
	return stored.Plan
}

// until waits until the rollout is in the given phase, at the given step.
func (p *previewed) until(phase rollout.Phase, step int) {
	p.t.Helper()
	for range 30 * 60 {
		if plan := p.plan(); plan.Phase() == phase && plan.Status.Step == step {
			wait(time.Second) // all members see what ended the step
			return
		}
		wait(time.Second)
	}
	plan := p.plan()
	p.t.Fatalf("the rollout is %s, not %s at step %d: %+v", plan.Phase(), phase, step, plan.Status)
}

// names are the names of the elections that picks selects; of all elections if picks is nil.
func names(r status.Report, picks func(status.Election) bool) (all []string) {
	for _, e := range r.Elections {
		if picks == nil || picks(e) {
			all = append(all, e.Name)
		}
	}
	return all
}

func kindOf(election string) string { kind, _, _ := strings.Cut(election, "."); return kind }
