//go:build linux

package probe

import (
	"embed"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Spec is the value of `ready:`. It has one of Command, File and HTTP.
type Spec struct {
	// A program and its arguments. Exit status 0 means ready. It is found, and runs, as the runner's own program: the same `dir`, `user`, `limits` and environment, without a term.
	Command []string `yaml:"command" otherwise:"none"`
	// A path at which something must exist. A relative path starts at `dir`.
	File string `yaml:"file" otherwise:"none"`
	// An address beginning with `http://` or `https://` that must answer with a status of 200 to 299. Redirections are not followed, and no proxy is used.
	HTTP string `yaml:"http" otherwise:"none"`
	// The time between two probes. From `1s` to `1h`.
	Period time.Duration `yaml:"period" otherwise:"5s"`
	// How long a probe may take before it has failed. A command is killed then. From `100ms` to `1m`.
	Timeout time.Duration `yaml:"timeout" otherwise:"5s"`
	// How many probes in a row must fail until a runner that was ready is not. From 1 to 100.
	Failures int `yaml:"failures" min:"1"`
	// How many probes in a row must succeed until a runner that was not ready is. From 1 to 100.
	Successes int `yaml:"successes" min:"1"`
}

// Default is what a Spec has where the configuration says nothing.
var Default = Spec{Period: 5 * time.Second, Timeout: 5 * time.Second, Failures: 3, Successes: 1}

//go:embed spec.go
var comments embed.FS

// Comments has the source whose comments describe the keys of Spec.
func Comments() embed.FS { return comments }

// The bounds of a Spec.
const (
	leastPeriod, mostPeriod   = time.Second, time.Hour
	leastTimeout, mostTimeout = 100 * time.Millisecond, time.Minute
	mostInARow                = 100
)

// Set says whether there is anything to ask.
func (s Spec) Set() bool { return len(s.Command) > 0 || s.File != "" || s.HTTP != "" }

// Check reports values that decode but make no sense; node is the block that holds `ready`.
func (s Spec) Check(node *yaml.Node) (errs strict.Errors) {
	if _, given := strict.Lookup(node, "ready"); !given {
		return nil
	}
	fail := func(field, problem, hint string) {
		at, _ := strict.Lookup(node, "ready"+field)
		errs = append(errs, strict.NewError(at, "ready"+field, problem, hint))
	}
	var ways []string
	for _, way := range []string{"command", "file", "http"} {
		if _, given := strict.Lookup(node, "ready."+way); given {
			ways = append(ways, way)
		}
	}
	switch {
	case len(ways) == 0:
		fail("", "asks nothing", "give it one of command, file and http, or leave ready out")
	case len(ways) > 1:
		fail("."+ways[1], "is a second probe beside "+ways[0], "a runner has one probe: a command can ask several things")
	case ways[0] == "command":
		s.checkCommand(fail)
	case ways[0] == "file":
		s.checkFile(fail)
	default:
		s.checkHTTP(fail)
	}
	between := func(field string, got, least, most time.Duration) {
		if got < least || got > most {
			fail(field, fmt.Sprintf("%v is not from %v to %v", got, least, most), "leave it out for the default")
		}
	}
	between(".period", s.Period, leastPeriod, mostPeriod)
	between(".timeout", s.Timeout, leastTimeout, mostTimeout)
	for field, n := range map[string]int{".failures": s.Failures, ".successes": s.Successes} {
		if n < 1 || n > mostInARow {
			fail(field, fmt.Sprintf("%d is not from 1 to %d", n, mostInARow), "leave it out for the default")
		}
	}
	slices.SortStableFunc(errs, func(a, b *strict.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

func (s Spec) checkCommand(fail func(field, problem, hint string)) {
	if len(s.Command) == 0 || s.Command[0] == "" {
		fail(".command", "names no program", "give the program and its arguments, such as [./bin/can-write, --quick]")
	}
	if slices.ContainsFunc(s.Command, child.HasNUL) {
		fail(".command", "has a NUL byte in it", "no argument of a program can have one")
	}
}

func (s Spec) checkFile(fail func(field, problem, hint string)) {
	switch {
	case s.File == "":
		fail(".file", "is empty", "give the path of a file, such as /run/writer/ready")
	case child.HasNUL(s.File):
		fail(".file", "has a NUL byte in it", "no path can have one")
	}
}

func (s Spec) checkHTTP(fail func(field, problem, hint string)) {
	const hint = "such as http://127.0.0.1:8080/ready"
	u, err := url.Parse(s.HTTP)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		fail(".http", "is no address that begins with http:// or https://", hint)
	case u.User != nil:
		fail(".http", "has a user or a password in it", "the probe's answer is published with its address: ask an address that needs none, or use a command")
	case u.Fragment != "":
		fail(".http", "has a # in it, which no server sees", hint)
	}
}
