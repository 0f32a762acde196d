package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) {
	hang()
	devcluster.Main(m)
}

// programs are the paths of this program and the example, built as a user would build them.
type programs struct {
	t               *testing.T
	ctx             context.Context
	primacy, folder string
	config          string
}

func build(t *testing.T) *programs {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	dir := t.TempDir()
	p := &programs{t: t, ctx: ctx, primacy: filepath.Join(dir, "primacy"), folder: filepath.Join(dir, "plugins"), config: filepath.Join(dir, "primacy.yaml")}
	for out, pkg := range map[string]string{p.primacy: ".", filepath.Join(p.folder, "greeter"): "../../example/greeter"} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", out, pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Makefile builds
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, text)
		}
	}
	return p
}

func (p *programs) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(p.ctx, p.primacy, args...)
	c.Env = append(os.Environ(), "PRIMACY_PLUGIN_DIR="+p.folder)
	return c
}

// says runs a command to its end, and checks that it prints want.
func (p *programs) says(want string, args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if (err == nil) != (want == "") {
		p.t.Errorf("%s: %v\n%s", args, err, out)
	}
	if !strings.Contains(string(out), want) {
		p.t.Errorf("%s says\n%swant %q", args, out, want)
	}
	return string(out)
}

func (p *programs) configure(hash, config string) {
	p.t.Helper()
	text, err := os.ReadFile("../../example/greeter/primacy.yaml")
	if err != nil {
		p.t.Fatal(err)
	}
	set := strings.NewReplacer("SHA256", hash, "{greeting: hello, every: 1s}", config).Replace(string(text))
	if err := os.WriteFile(p.config, []byte(set), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

var hashForm = regexp.MustCompile(`[0-9a-f]{64}`)

// TestGreeter checks that the example leads on a real API server, and that the program refuses
// plugins that it cannot trust before it even looks for a server.
func TestGreeter(t *testing.T) {
	cluster := devcluster.Start(t)
	p := build(t)
	hash := hashForm.FindString(p.says("", "plugins", "list"))
	if out := p.says("", "plugins", "verify", "greeter"); !strings.Contains(out, hash) || !strings.Contains(out, `"1.0.0"`) {
		t.Errorf("verify says\n%s", out)
	}
	p.configure(hash, "{greeting: welcome, every: 1h}")
	p.says("", "validate", "-f", p.config)

	run := p.command("run", "--config", p.config, "--name", "host", "--kubeconfig", cluster.Kubeconfig, "--namespace", cluster.Namespace(t))
	stderr, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var log strings.Builder
	await := func(text string) {
		t.Helper()
		for lines.Scan() {
			log.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Errorf("it never says %q:\n%s", text, log.String())
	}
	await("welcome from greeting with token ")
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	await("good bye from greeting")
	await(`"msg":"left"`)
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	p := build(t)
	hash := hashForm.FindString(p.says("", "plugins", "list"))
	refused := func(want string) {
		t.Helper()
		p.says(want, "validate", "-f", p.config)
		// There is no cluster, and the error must not be about that.
		p.says(want, "run", "--config", p.config, "--kubeconfig", filepath.Join(t.TempDir(), "none"))
	}
	p.configure(hash, "{every: 0s}")
	refused("every must be more than 0")
	p.configure(strings.Repeat("a", 64), "{}")
	refused("is not the one that the configuration names")
	p.configure(hash, "{}")
	greeter := filepath.Join(p.folder, "greeter")
	f, err := os.OpenFile(greeter, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	refused("is not the one that the configuration names")
	if err := os.Rename(greeter, greeter+".bin"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(greeter+".bin", greeter); err != nil {
		t.Fatal(err)
	}
	refused("is a symbolic link")
	p.says("is a symbolic link", "plugins", "verify", "greeter")
	if err := os.Remove(greeter); err != nil {
		t.Fatal(err)
	}
	refused("no such file")
}
