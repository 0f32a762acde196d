package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// TestScripts runs testdata/*.txt. Each script has a namespace of its own, $NS, on a real
// API server. In addition to testscript's own commands there are
//
//	fails STATUS COMMAND...    run the command; it must exit with STATUS
//	start NAME PROGRAM...      run the program beside the script, until the script ends
//	sit NAME COLSxROWS PROGRAM...  the same, at a terminal
//	press NAME KEYS            type there; \n is Enter
//	await NAME REGEXP...       wait until the output of NAME since the last await matches all of these,
//	                           in any order
//	[!] printed NAME REGEXP    the whole output of NAME matches REGEXP, or not
//	signal NAME SIGNAL...      send signals, one after the other
//	exits NAME STATUS          wait until NAME exits with STATUS
//	scrape NAME FILE           write the metrics that NAME serves to a file; docs/metrics.md must have them all
//	answers NAME STATUS PATH [TOKEN]  ask an endpoint of NAME, which must answer with STATUS; the answer is stdout
//	ready NAME                 wait until NAME is ready
//	probes NAME MANIFEST       ask NAME what the probes of a Deployment ask; all must pass
//	certify DIR                write a new certificate, tls.crt, and its key, tls.key
//	weather STORM FILE [RESOURCE/NAME]  write a kubeconfig with which requests fail at first, or updates of an object always; see weather
//	kubeconfig KIND FILE       write a kubeconfig with a mistake; see kubeconfig
//	mint SERVICEACCOUNT FILE   write a kubeconfig for a service account of $NS
//	apply FILE...              create, or replace, the objects of manifests
//	revision NAME KEY VALUE    write a ConfigMap of $NS
//	rights SERVICEACCOUNT NAME...  print what the account may do in $NS: to ConfigMaps of these names,
//	                           and to other resources
//	matrix SERVICEACCOUNT NAME...  print everything that the account may do, with objects of these names and others
//	token KUBECONFIG VARIABLE  set a variable to the token of a kubeconfig
//	stored FILE                write the stored pins and rollout
//	controller PHASE STEP ELECTION...  write the status of the rollout; the elections, in order, are in reach
//	usurp LEASE                make an identity that is no member the holder, for so long that no member claims it
//	befall LEASE               make an identity that is no member the holder of a lock that exists
//	lapsed SESSION             wait until a session has lapsed, by the clock of this machine
//	forge KEY OLD NEW          edit the stored rollout by hand
//	agreed PREFERENCE          wait until all members publish that they see this preference
//	lags REGEXP                wait until all members publish why they do not go by their configuration; "-" for nothing
//	joined NAME                wait until the session of NAME, which said that it joins, is stored
//	nominee KIND LOCK REGEXP   the record of a lock names a next holder that matches
//	identity SESSION VARIABLE  set a variable to the holder of a session
//	pod NAME                   create a Pod, in which programs that are started then seem to run; see pod
//	kubelet POD WORDS...       write its status as a kubelet would; see kubelet
//	eventon KIND [NAMESPACE/]NAME REGEXP  wait until the object has an Event "TYPE REASON: MESSAGE" that matches
//	bears POD REGEXP           wait until the labels of the Pod, as "a=b c=d", match
//	taint                      mark the node of these Pods as out of service
//	configuration MANIFEST FILE  take the configuration out of a manifest
func TestScripts(t *testing.T) {
	cluster := devcluster.New(t)
	s := &scripts{t: t, cluster: cluster}
	manifests, err := filepath.Abs(filepath.Join("..", "..", "..", "manifests"))
	if err != nil {
		t.Fatal(err)
	}
	// Ask before the scripts begin: Divide kills what dead members have left.
	g, _, err := cgroup.Divide(cgroup.Always)
	divisible := err == nil && g.Remove() == nil
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("KUBECONFIG", cluster.Kubeconfig)
			e.Setenv("MANIFESTS", manifests)
			e.Setenv("NS", cluster.Namespace(t))
			e.Values[jobsKey{}] = map[string]*job{}
			e.Values[terminalsKey{}] = map[string]*os.File{}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "cgroup" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return divisible, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fails": fails, "start": start, "sit": sit, "press": press, "await": await, "printed": printed, "signal": sendSignal, "killmember": killMember, "killboth": killBoth, "exits": exits, "scrape": scrape,
			"answers": asks, "ready": ready, "probes": probes, "certify": certify,
			"kubeconfig": s.kubeconfig, "mint": s.mint, "apply": s.apply, "revision": s.revision, "rights": s.rights, "matrix": s.matrix, "token": s.token,
			"configuration": configuration, "stored": s.stored, "controller": s.controller, "forge": s.forge, "agreed": s.agreed, "lags": s.lags, "usurp": s.usurp, "befall": s.befall, "collect": s.collect, "lapsed": s.lapsed, "weather": s.weather, "unlocked": s.unlocked, "joined": s.joined, "identity": s.identity, "nominee": s.nominee, "pod": s.pod, "kubelet": s.kubelet, "taint": s.taint, "owners": s.owners, "eventon": s.eventOn, "bears": s.bears,
		},
		RequireExplicitExec: true,
	})
}

type scripts struct {
	t       *testing.T
	cluster *devcluster.Cluster
}

// longest is how long a script waits for anything.
const longest = 60 * time.Second

type jobsKey struct{}

func jobOf(ts *testscript.TestScript, name string) *job {
	j := ts.Value(jobsKey{}).(map[string]*job)[name]
	if j == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return j
}

func want(ts *testscript.TestScript, neg bool, args []string, least int) {
	if neg || len(args) < least {
		ts.Fatalf("unsupported use of a command; see TestScripts")
	}
}

func fails(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("want exit status %s: %v", args[0], err)
	}
}

// passed are the variables that a script may set for the program.
var passed = []string{"PATH", "HOME", "TMPDIR", "KUBECONFIG", "PRIMACY_CONFIG", "PRIMACY_KUBECONFIG", "PRIMACY_NAME", "POD_NAME", "POD_UID", "POD_NAMESPACE", "PRIMACY_REVISION", "NO_COLOR", testPatience, testSlew}

func jobEnvironment(ts *testscript.TestScript) (env []string) {
	for _, name := range passed {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	j, err := startJob(ts.MkAbs("."), jobEnvironment(ts), args[1:]...)
	ts.Check(err)
	ts.Defer(func() {
		j.finish()
		ts.Logf("[%s]\n%s", args[0], j.text())
	})
	ts.Value(jobsKey{}).(map[string]*job)[args[0]] = j
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	var patterns []*regexp.Regexp
	for _, a := range args[1:] {
		patterns = append(patterns, regexp.MustCompile(a))
	}
	if err := jobOf(ts, args[0]).await(patterns, longest); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

func printed(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, false, args, 2)
	if regexp.MustCompile(args[1]).MatchString(jobOf(ts, args[0]).text()) == neg {
		ts.Fatalf("%s: printed %q: %v", args[0], args[1], !neg)
	}
}

var signals = map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}

// killMember kills the member of a program that runs under a parent, and leaves the parent alone: killmember NAME
func killMember(ts *testscript.TestScript, neg bool, args []string) {
	_, member := withMember(ts, neg, args)
	ts.Check(syscall.Kill(member, syscall.SIGKILL))
}

// killBoth kills a parent and its member before either can act on the other's death.
func killBoth(ts *testscript.TestScript, neg bool, args []string) {
	above, member := withMember(ts, neg, args)
	ts.Check(syscall.Kill(member, syscall.SIGSTOP))
	ts.Check(syscall.Kill(above, syscall.SIGKILL))
	ts.Check(syscall.Kill(member, syscall.SIGKILL))
}

// withMember are the process ids of a job and of the member below it.
func withMember(ts *testscript.TestScript, neg bool, args []string) (above, member int) {
	want(ts, neg, args, 1)
	above = jobOf(ts, args[0]).cmd.Process.Pid
	if member = parent.MemberOf(above); member == above {
		ts.Fatalf("%s has no member below it", args[0])
	}
	return above, member
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	for _, name := range args[1:] {
		ts.Check(jobOf(ts, args[0]).cmd.Process.Signal(signals[name]))
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	got, err := jobOf(ts, args[0]).status(longest)
	ts.Check(err)
	if strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s exited with status %d, want %s", args[0], got, args[1])
	}
}

// mint makes the devcluster program write the kubeconfig.
func (s *scripts) mint(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	binary := os.Getenv(devcluster.Binary)
	if binary == "" {
		binary = filepath.Join("..", "..", "..", "bin", "devcluster")
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "mint", "--kubeconfig", s.cluster.Kubeconfig,
		"--namespace", ts.Getenv("NS"), "--serviceaccount", args[0], "--out", ts.MkAbs(args[1])).CombinedOutput()
	if err != nil {
		ts.Fatalf("mint: %v\n%s", err, out)
	}
}
