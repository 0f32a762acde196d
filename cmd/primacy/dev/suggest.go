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
	change := r.suggestion("switch the default revision", switchRevision, strings.Join(r.switchByHand(), " "))
	if r.plan.key == nil {
		change = "  the default revision cannot be switched: this configuration does not keep it in a ConfigMap"
	}
	return []string{
		change,
		r.suggestion("kill a member", killMember, fmt.Sprintf("kill -9 %d (%s)", m.pid(), m.name)),
		r.suggestion("stop a member", stopMember, fmt.Sprintf("kill %d (%s)", m.pid(), m.name)),
	}
}

// suggestion says how to do something: by typing here, if we read lines, and by a shell command.
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

// switchByHand is the shell command that switches the revision, in words. It is empty if there is no
// kubectl and the person can type a command here instead.
func (r *run) switchByHand() []string {
	if r.plan.key == nil {
		return nil
	}
	if _, err := exec.LookPath("kubectl"); err != nil && (r.typed || r.screen != nil) {
		return nil
	}
	return shellWords("kubectl", "--kubeconfig", r.cluster.kubeconfig, "-n", r.cluster.namespace, "patch", "configmap",
		r.plan.key.Name, "--type", "merge", "-p", r.plan.key.patch(r.plan.other(r.preferred.Revision)))
}

// shellWords quotes the words that a shell would change.
func shellWords(words ...string) []string {
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, special) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return words
}

func special(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !plain && !strings.ContainsRune("-_./:=,@%+", r)
}

// suggest prints what to try.
func (r *run) suggest() {
	if r.screen != nil {
		return // the screen shows its keys
	}
	r.console.say("try:")
	for _, line := range r.suggestions() {
		r.console.say("%s", line)
	}
}
