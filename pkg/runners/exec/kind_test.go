//go:build linux

package exec_test

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
)

func decode(t *testing.T, text string, env runners.Env) (runners.Child, error) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	reg := runners.NewRegistry()
	reg.Register("exec", exec.Kind())
	return reg.Decode(doc.Content[0], env)
}

func TestDecoded(t *testing.T) {
	log, logs := observed()
	c, err := decode(t, `
name: writer
exec:
  command: [/bin/sh, -c, 'echo $MODE; pwd']
  stopGrace: 5s
  dir: /
  env:
  - {name: MODE, value: leader}
`, runners.Env{Election: "e", StopGrace: 5 * time.Second, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Runner.Run(t.Context(), term(time.Hour))
	if got := strings.Join(output(logs, "stdout"), " "); got != "leader /" {
		t.Errorf("it wrote %q", got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for block, want := range map[string]string{
		"{}":                                                                      "1:17: exec.command: is missing",
		"{command: []}":                                                           "1:27: exec.command: names no program",
		`{command: [""]}`:                                                         "exec.command: names no program",
		`{command: ["a\0"]}`:                                                      "exec.command: has a NUL byte",
		"{command: sh}":                                                           "exec.command: want a list",
		"{command: [a], comand: [b]}":                                             "exec.comand: unknown field",
		"{command: [a], stopGrace: 6s}":                                           "1:43: exec.stopGrace: 6s is longer than the election's stopGrace 5s",
		"{command: [a], stopGrace: -1s}":                                          "exec.stopGrace: -1s is negative",
		"{command: [a], stopGrace: 5}":                                            "exec.stopGrace: \"5\" has no unit",
		`{command: [a], dir: "\0"}`:                                               "exec.dir: has a NUL byte",
		"{command: [a], env: [{name: A}]}":                                        "exec.env[0].value: is missing",
		"{command: [a], user: {uid: 1}}":                                          "exec.user.gid: is missing",
		"{command: [a], user: nobody}":                                            "exec.user: want",
		"{command: [a], user: {uid: -1, gid: 1}}":                                 "exec.user.uid: ",
		"{command: [a], user: {uid: 4294967295, gid: 1}}":                         "exec.user: 4294967295 stands for no change",
		"{command: [a], limits: {openFiles: 2}}":                                  "1:52: exec.limits.openFiles: 2 are too few for any program",
		"{command: [a], limits: {memory: 1GB}}":                                   `exec.limits.memory: "1GB" is no size (a number of bytes, or with Ki, Mi or Gi`,
		"{command: [a], limits: {memory: [1]}}":                                   "exec.limits.memory: ",
		"{command: [a], limits: {memory: 99999999999Gi}}":                         "is no size",
		"{command: [a], limits: {cpuTime: 1500ms}}":                               "exec.limits.cpuTime: 1.5s is no number of whole seconds",
		"{command: [a], limits: {processes: -1}}":                                 "exec.limits.processes: -1 is negative",
		"{command: [a], limits: {openFiles: 9000000000000000000}}":                "is more than this process itself may have, which is",
		"{command: [a], limits: {threads: 5}}":                                    "exec.limits.threads: unknown field",
		"{command: [a], output: {linesPerSecond: 0}}":                             "1:57: exec.output.linesPerSecond: 0 is not more than 0",
		"{command: [a], output: {bytesPerSecond: -1}}":                            "exec.output.bytesPerSecond: -1 is not more than 0",
		"{command: [a], output: {linesPerSecond: 1000000001}}":                    "1:57: exec.output.linesPerSecond: 1000000001 is more than 1000000000 (leave it out to get 500)",
		"{command: [a], output: {perSecond: 5}}":                                  "exec.output.perSecond: unknown field",
		`{command: [a], env: [{name: PRIMACY_TOKEN, value: "1"}]}`:                "exec.env[0].name: PRIMACY_TOKEN is among the names",
		`{command: [a], env: [{name: A=B, value: c}]}`:                            `exec.env[0].name: "A=B" cannot be`,
		`{command: [a], env: [{name: A, value: c}, {name: A, value: d}]}`:         "exec.env[1].name: A is set twice",
		`{command: [a], env: [{name: A, value: "\0"}]}`:                           "exec.env[0].value: has a NUL byte",
		`{command: [a], stopGrace: 6s, env: [{name: PRIMACY_TOKEN, value: "1"}]}`: "PRIMACY_TOKEN",
	} {
		_, err := decode(t, "{name: w, exec: "+block+"}", runners.Env{StopGrace: 5 * time.Second})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", block, err, want)
		}
	}
}
