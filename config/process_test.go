package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unset removes our variables from the environment of the test.
func unset(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "PRIMACY_") {
			t.Setenv(name, "")
		}
	}
}

func process(t *testing.T, args ...string) (*config.Process, error) {
	t.Helper()
	flags := pflag.NewFlagSet("primacy", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return config.LoadProcess(flags)
}

func TestPrecedence(t *testing.T) {
	unset(t)
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	write(t, path, header+"group: file\nnamespace: file\nmember: {revision: file, location: remote, weight: 7}\nelections: [{name: a}]")

	show := func(p *config.Process, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		c := p.Configuration
		if c.Group != p.Group || c.Namespace != p.Namespace || c.Member.Revision != p.Revision || c.Member.Location != p.Location {
			t.Errorf("process and configuration differ: %+v %+v", p, c)
		}
		return strings.Join([]string{p.Group, p.Namespace, p.Revision, string(p.Location), p.LogLevel, p.LogFormat, p.Kubeconfig}, " ")
	}
	t.Setenv("PRIMACY_CONFIG", path)
	if got := show(process(t)); got != "file file file remote info json " {
		t.Error("file over defaults:", got)
	}
	t.Setenv("PRIMACY_GROUP", "env")
	t.Setenv("PRIMACY_NAMESPACE", "env")
	t.Setenv("PRIMACY_REVISION", "env")
	t.Setenv("PRIMACY_LOCATION", "local")
	t.Setenv("PRIMACY_LOG_LEVEL", "debug")
	t.Setenv("PRIMACY_LOG_FORMAT", "console")
	t.Setenv("PRIMACY_KUBECONFIG", "env.kubeconfig")
	if got := show(process(t)); got != "env env env local debug console env.kubeconfig" {
		t.Error("environment over file:", got)
	}
	t.Setenv("PRIMACY_CONFIG", "/nowhere")
	got := show(process(t, "--config", path, "--group=flag", "--namespace=flag", "--revision=flag", "--location=remote",
		"--log-level=warn", "--log-format=json", "--kubeconfig=flag.kubeconfig"))
	if got != "flag flag flag remote warn json flag.kubeconfig" {
		t.Error("flags over environment:", got)
	}
}

func TestOverridesFillWhatTheFileLacks(t *testing.T) {
	unset(t)
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	write(t, path, header+"elections: [{name: a}]")
	p, err := process(t, "--config", path, "--group", "edge")
	if err != nil || p.Configuration.Group != "edge" || p.Revision != "default" || p.Location != record.Local {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestMistakesNameTheirSource(t *testing.T) {
	unset(t)
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	write(t, path, header+"group: Edge\nmember: {location: remote}\nelections: [{name: primacy-x-y}]")
	t.Setenv("PRIMACY_REVISION", "a b")
	t.Setenv("PRIMACY_LOG_LEVEL", "loud")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--config", path, "--log-format=xml"}, `environment variable PRIMACY_LOG_LEVEL: want debug or info or warn or error, got "loud"
flag --log-format: want json or console, got "xml"`},
		{[]string{"--config", path, "--log-level=inof"}, `flag --log-level: want debug or info or warn or error, got "inof" (did you mean info?)`},
		{[]string{"--config", path, "--log-level=info", "--location=here"}, `environment variable PRIMACY_REVISION: member.revision: "a b" is not a valid name (use letters, digits, dashes, underscores and dots; begin and end with a letter or digit)
flag --location: member.location: unknown location "here" (want local or remote)
` + path + `:3:8: group: "Edge" is not a valid name (use lower-case letters, digits and dashes; begin and end with a letter or digit)`},
		{[]string{"--config", path, "--log-level=info", "--revision=a", "--group="}, "flag --group: group: is empty (give it a name)"},
		{[]string{"--config", path, "--log-level=info", "--revision=a", "--group=x"},
			path + `:5:20: elections[0].name: "primacy-x-y" may be the name of a session: those of this group begin with primacy-x- (give the lock another name)`},
		{[]string{"--log-level=info", "--namespace=X", "--group=Y"}, `flag --group: group: "Y" is not a valid name (use lower-case letters, digits and dashes; begin and end with a letter or digit)
flag --namespace: namespace: "X" is not a valid name (use lower-case letters, digits and dashes; begin and end with a letter or digit)
environment variable PRIMACY_REVISION: member.revision: "a b" is not a valid name (use letters, digits, dashes, underscores and dots; begin and end with a letter or digit)`},
		{[]string{"--config", "/nowhere", "--log-level=info"}, "read configuration: open /nowhere: no such file or directory"},
	} {
		p, err := process(t, c.args...)
		if p != nil || err == nil || err.Error() != c.want {
			t.Errorf("%v\ngot  %v\nwant %s", c.args, err, c.want)
		}
	}
}

func TestWithoutFile(t *testing.T) {
	unset(t)
	t.Setenv("PRIMACY_NAMESPACE", "edge-system")
	p, err := config.LoadProcess(nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Configuration != nil || p.Namespace != "edge-system" || p.Group != "" || p.Revision != "default" || p.Location != record.Local {
		t.Errorf("got %+v", p)
	}
	if err := p.Watch(t.Context(), config.Follower{}); err == nil {
		t.Error("there is nothing to watch")
	}
}

// TestForeignVariables checks that two groups of variables do not configure primacy: those that a
// Service named primacy adds to every Pod, and those that we give to runners' children.
func TestForeignVariables(t *testing.T) {
	unset(t)
	for _, name := range []string{
		"PRIMACY_ELECTION", "PRIMACY_IDENTITY", "PRIMACY_MEMBER_REVISION", "PRIMACY_TOKEN", "PRIMACY_DEADLINE", "PRIMACY_EXTENSIONS_FD",
		"PRIMACY_PORT", "PRIMACY_SERVICE_HOST", "PRIMACY_SERVICE_PORT", "PRIMACY_PORT_443_TCP", "PRIMACY_MEMBER", "PRIMACY_MEMBER_LOCATION",
		"PRIMACY_ELECTIONS", "PRIMACY_TIMING", "PRIMACY_MEMBER_WEIGHT", "REVISION", "GROUP", "NAMESPACE", "CONFIG", "LOG_LEVEL", "LOG-LEVEL", "PRIMACY_LOG-LEVEL", "PRIMACY_LOG-FORMAT",
	} {
		t.Setenv(name, "7")
	}
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	write(t, path, header+"group: edge\nelections: [{name: a}]")
	got, err := process(t, "--config", path)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Configuration.Canonical() != plain.Canonical() {
		t.Errorf("got\n%s", got.Configuration.Canonical())
	}
	if got.LogLevel != "info" || got.LogFormat != "json" || got.Kubeconfig != "" {
		t.Errorf("got %+v", got)
	}
}
