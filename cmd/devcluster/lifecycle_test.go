package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRestart checks that a restart on a kept data folder keeps objects, certificates, tokens and the
// port, and that the server ends on SIGTERM even if a client holds a watch.
func TestRestart(t *testing.T) {
	t.Parallel()
	// Longer than the path of a socket may be.
	data := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	s := start(t, stdinDevNull, "--data-dir", data, "--kubeconfig", kubeconfig)
	before, err := os.ReadFile(kubeconfig)
	noError(t, err)
	minted := mintFor(t, s, "edge", "member")
	leases := client(t, kubeconfig).CoordinationV1().Leases("default")
	created, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "election"}}, metav1.CreateOptions{})
	noError(t, err)
	w, err := leases.Watch(t.Context(), metav1.ListOptions{})
	noError(t, err)
	defer w.Stop()

	code, stderr := run(t, "--data-dir", data)
	if code != 1 || !strings.Contains(stderr, "in use by another devcluster") {
		t.Errorf("second server on the same folder: exit code %d, errors:\n%s", code, stderr)
	}

	noError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.mustEnd()
	after, err := os.ReadFile(kubeconfig)
	noError(t, err)
	if string(after) != string(before) {
		t.Errorf("the kubeconfig has changed or is gone")
	}

	start(t, stdinDevNull, "--data-dir", data)
	found, err := client(t, kubeconfig).CoordinationV1().Leases("default").Get(t.Context(), "election", metav1.GetOptions{})
	noError(t, err)
	if found.UID != created.UID || found.ResourceVersion != created.ResourceVersion {
		t.Errorf("found %s at %s, want %s at %s", found.UID, found.ResourceVersion, created.UID, created.ResourceVersion)
	}
	_, err = client(t, minted).Discovery().ServerVersion()
	noError(t, err)
}

// TestSignalDuringStart checks that a server that is stopped while it starts ends without a ready line and
// without an error.
func TestSignalDuringStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal syscall.Signal
		logged string // send the signal when this is logged
	}{
		{syscall.SIGTERM, ""}, // as soon as it logs anything, it has state to remove
		{syscall.SIGINT, "set initial cluster version"},
		{syscall.SIGHUP, "Serving securely"},
	} {
		p := launch(t, stdinDevNull, "--verbose")
		for line := ""; line == "" || !strings.Contains(line, c.logged); {
			var err error
			line, err = p.stderr.ReadString('\n')
			noError(t, err)
		}
		noError(t, p.cmd.Process.Signal(c.signal))
		if code, stdout := p.exit(); code != 0 || stdout != "" {
			t.Errorf("%v at %q: exit code %d, output %q, errors:\n%s", c.signal, c.logged, code, stdout, &p.errors)
		}
		p.mustLeaveNothing()
	}
}
