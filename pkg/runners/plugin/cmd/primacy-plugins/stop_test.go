package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// hangVariable names the pipe that a plugin opens before it hangs.
const hangVariable = "HANGING_PLUGIN"

// hang makes this process a plugin that hangs if its environment says so.
func hang() {
	pipe := os.Getenv(hangVariable)
	if pipe == "" {
		return
	}
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		os.Exit(1)
	}
	_, _ = f.WriteString("asked\n")
	for {
		_ = unix.Pause()
	}
}

// TestStoppedWhilePluginsAreAsked checks that a member that is stopped while it asks its plugins ends
// at once, without an error.
func TestStoppedWhilePluginsAreAsked(t *testing.T) {
	p := build(t)
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.folder, "hanging"), text, 0o700); err != nil { // #nosec G306 -- it is executed
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	election := `
- name: NAME
  runners: [{name: w, plugin: {name: hanging, sha256: SUM, env: [{name: ` + hangVariable + `, value: PIPE}], config: NAME}}]`
	document := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nmember: {revision: \"1-9-0\"}\nelections:"
	for _, name := range []string{"one", "two"} {
		document += strings.NewReplacer("NAME", name, "SUM", hex.EncodeToString(sum[:]), "PIPE", pipe).Replace(election)
	}
	if err := os.WriteFile(p.config, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	run := p.command("run", "--config", p.config, "--kubeconfig", filepath.Join(t.TempDir(), "none"))
	var said strings.Builder
	run.Stderr = &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	events, err := os.OpenFile(pipe, os.O_RDWR, 0) // opened for writing too: without a writer the pipe would end
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	asked := bufio.NewScanner(events)
	for range 2 {
		if !asked.Scan() {
			t.Fatal(asked.Err())
		}
	}
	told := clock.Boottime().Now()
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = run.Wait()
	if took := clock.Boottime().Now().Sub(told); err != nil || took > 20*time.Second {
		t.Errorf("it ended %v later (%v), and said\n%s", took, err, said.String())
	}
}
