package app

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// TestCheckGroup checks that a member says what lives on of dead ones, and why it has no control group of its own.
func TestCheckGroup(t *testing.T) {
	const (
		has     = `info: this member has a control group of its own map[cgroup:/g]`
		livesOn = `warn: something of a member that died here lives on, so nothing proves that death: others wait until its session has lapsed map[what:a process]`
		without = `warn: this member has no control group of its own map[why:no space]`
	)
	cgroupProof := []record.Proof{record.ProofOperator, record.ProofCgroup}
	for _, tt := range []struct {
		what   string
		line   *parent.Line
		why    string
		proofs []record.Proof
		said   string
		failed string
	}{
		{"a group", &parent.Line{Cgroup: "/g"}, "", cgroupProof, has, ""},
		{"beside what lives on", &parent.Line{Cgroup: "/g", LivesOn: []string{"a process"}}, "", cgroupProof, livesOn + "\n" + has, ""},
		{"limits that do not hold", &parent.Line{Cgroup: "/g"}, "no controllers", cgroupProof, has, ""},
		{"no group", &parent.Line{}, "", nil, "", ""},
		{"no group, since none can be made", &parent.Line{LivesOn: []string{"a process"}}, "no space", nil, livesOn + "\n" + without, ""},
		{"no group for a proof", &parent.Line{}, "", cgroupProof, "", "systemd gives one with Delegate=yes"},
		{"no group for a proof, since none can be made", &parent.Line{}, "no space", cgroupProof, "", "cgroup: no space"},
		{"no parent", nil, "", nil, "", ""},
		{"no parent for a proof", nil, "", cgroupProof, "", "not with --guard=false"},
	} {
		core, logs := observer.New(zap.InfoLevel)
		deadman.Within("", cgroup.Trees{Why: tt.why})
		err := checkGroup(tt.line, tt.proofs, zap.New(core))
		deadman.Within("", cgroup.Trees{})
		var said []string
		for _, l := range logs.All() {
			said = append(said, fmt.Sprintf("%s: %s %v", l.Level, l.Message, l.ContextMap()))
		}
		if got := strings.Join(said, "\n"); got != tt.said {
			t.Errorf("%s: it says\n%s\nwant\n%s", tt.what, got, tt.said)
		}
		if (err != nil) != (tt.failed != "") || err != nil && !strings.Contains(err.Error(), tt.failed) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.failed)
		}
	}
}
