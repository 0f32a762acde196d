package dev

import (
	"fmt"
	"os/exec"
	"strings"
)

// suggestions are three lines: what to try, and how.
func (r *run) suggestions() []string {
	m := r.crew.named(r.busiest())
	if m == nil {
		m = r.crew.members[0]
	}
	return []string{
		r.suggestion("switch the default revision", switchRevision, r.switchByHand()),
		r.suggestion("kill a member", killMember, fmt.Sprintf("kill -9 %d (%s)", m.pid(), m.name)),
		r.suggestion("stop a member", stopMember, fmt.Sprintf("kill %d (%s)", m.pid(), m.name)),
	}
}

// suggestion says how to do something by typing, where that is read, and without.
func (r *run) suggestion(what string, key verb, byHand string) string {
	var ways []string
	if r.typed {
		ways = append(ways, fmt.Sprintf("%s and Enter", key))
	}
	if byHand != "" {
		ways = append(ways, byHand)
	}
	return fmt.Sprintf("  %-29s %s", what, strings.Join(ways, ", or: "))
}

// switchByHand is the command for a shell; empty where there is a better way than one that
// lacks its program.
func (r *run) switchByHand() string {
	if r.plan.key == nil {
		return "not with this configuration: its default revision is not kept in a ConfigMap"
	}
	if _, err := exec.LookPath("kubectl"); err != nil && (r.typed || r.screen != nil) {
		return ""
	}
	return r.kubectl("patch", "configmap", r.plan.key.Name, "--type", "merge", "-p", r.plan.key.patch(r.plan.other(r.preferred.Revision)))
}

// kubectl is a command line for this run's API server.
func (r *run) kubectl(args ...string) string {
	return shell(append([]string{"kubectl", "--kubeconfig", r.cluster.kubeconfig, "-n", r.cluster.namespace}, args...))
}

// shell quotes the words of a command.
func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, special) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func special(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !plain && !strings.ContainsRune("-_./:=,@%+", r)
}

// suggest prints what to try.
func (r *run) suggest() {
	if r.screen != nil {
		return // it shows its keys
	}
	r.console.say("try:")
	for _, line := range r.suggestions() {
		r.console.say("%s", line)
	}
}
