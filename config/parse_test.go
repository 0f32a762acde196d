package config_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"

	"github.com/primacy-dev/primacy/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := config.Load(file)
			if err == nil {
				t.Fatal("accepted")
			}
			text := strings.ReplaceAll(err.Error(), file, filepath.Base(file))
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", text+"\n")
		})
	}
}

func TestGood(t *testing.T) {
	c, err := config.Load("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/good.golden.yaml", c.Canonical())
	golden(t, "testdata/good.arithmetic.golden", c.Arithmetic())

	again, err := config.Parse("golden", []byte(c.Canonical()))
	if err != nil {
		t.Fatal(err)
	}
	if again.Canonical() != c.Canonical() {
		t.Error("the canonical form does not parse to the same configuration")
	}
}

const header = "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\n"

func parse(t *testing.T, text string) *config.Configuration {
	t.Helper()
	c, err := config.Parse("f.yaml", []byte(header+text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := parse(t, "group: edge\nelections: [{name: a}]")
	profile, _ := record.Profile(record.DefaultProfile)
	if want := (config.Member{Revision: "default", Location: record.Local, Weight: 100}); !reflect.DeepEqual(c.Member, want) {
		t.Errorf("member: %+v", c.Member)
	}
	if c.DefaultRevision != nil || c.Namespace != "" || c.Timing != profile {
		t.Errorf("got %+v", c)
	}
	e := c.Elections[0]
	if e.Lock != (config.Lock{Kind: "Lease", Name: "a", Renewal: record.RenewalUnlessForeign}) || e.Policy != config.DefaultPolicy ||
		e.Bootstrap != config.BootstrapWait || e.Timing != profile || len(e.Runners) != 0 {
		t.Errorf("election: %+v", e)
	}
}

func TestTimingLayers(t *testing.T) {
	c := parse(t, `
group: edge
timing: {profile: fast, stopGrace: 1500ms, drift: 0.02}
elections:
- {name: document}
- {name: own, timing: {minHold: 7s}, priority: {preemptDelay: 9s}}
- {name: profile, timing: {profile: relaxed, stopGrace: 20s}}
`)
	want, _ := record.Profile("fast")
	want.StopGrace, want.Drift = 1500*time.Millisecond, 0.02
	if c.Timing != want || c.Elections[0].Timing != want {
		t.Errorf("document: %+v", c.Timing)
	}
	want.MinHold, want.PreemptDelay = 7*time.Second, 9*time.Second
	if got := c.Elections[1].Timing; got != want {
		t.Errorf("own: %+v", got)
	}
	want, _ = record.Profile("relaxed")
	want.StopGrace, want.Drift = 20*time.Second, 0.02
	if got := c.Elections[2].Timing; got != want {
		t.Errorf("profile: %+v", got)
	}
}

func TestTimingThatFitsNobody(t *testing.T) {
	// An impossible timing of the document is not reported again for each election that inherits it.
	_, err := config.Parse("f", []byte(header+"group: edge\ntiming: {drift: 0.3}\nelections: [{name: a}, {name: b, priority: {minHold: 1s}}]"))
	const want = "f:4:17: timing.drift: no renewal may fail: leaseDuration 15s x (1 - drift 0.3) - stopGrace 5s = 5.5s, which must be at least 2 x renewInterval 3s = 6s (leaseDuration: 16s or more would do, or stopGrace: 4.5s or less)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestHintsAreTrue(t *testing.T) {
	for _, timing := range []string{"leaseDuration: 21s, renewInterval: 5s, stopGrace: 10s", "renewInterval: 5s, stopGrace: 4.9s", "leaseDuration: 16s, drift: 0.3", "stopGrace: 4.5s, drift: 0.3"} {
		parse(t, "group: edge\ntiming: {"+timing+"}\nelections: []")
	}
}

func TestDefaultRevision(t *testing.T) {
	for text, want := range map[string]string{
		`"1-9-0"`:                       "static revision 1-9-0",
		`{static: "1-9-0"}`:             "static revision 1-9-0",
		`{static: {revision: "1-9-0"}}`: "static revision 1-9-0",
		`{webhook: {name: x}}`:          "webhook name x",
	} {
		c := parse(t, "group: edge\ndefaultRevision: "+text+"\nelections: []")
		d := c.DefaultRevision
		got := d.Kind + " " + d.Node.Content[0].Value + " " + d.Node.Content[1].Value
		if got != want || d.Field != "defaultRevision."+d.Kind || d.Node.Line != 4 {
			t.Errorf("%s: got %s at %s line %d", text, got, d.Field, d.Node.Line)
		}
	}
}

func TestErrorsFromOutside(t *testing.T) {
	c := parse(t, `group: edge
elections:
- name: a
  runners:
  - name: writer
    exec:
      comand: [x]
      stopGrace: 9s
- name: b
  lock: {kind: Lease}
`)
	exec := c.Elections[0].Runners[0]
	var block struct {
		Command []string      `yaml:"command" strict:"required"`
		Grace   time.Duration `yaml:"stopGrace"`
	}
	err := c.Within(exec.Block, strict.Decode(exec.Node, &block))
	const want = `f.yaml:9:7: elections[0].runners[0].exec.comand: unknown field (did you mean command?)
f.yaml:9:7: elections[0].runners[0].exec.command: is missing (add command: ...)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	err = c.Within(exec.Entry, strict.NewError(nil, "exec.comand", "is no setting", ""))
	if want := "f.yaml:7:5: elections[0].runners[0].exec.comand: is no setting"; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, at := range []struct {
		got  error
		want string
	}{
		{c.ErrorAt(nil, exec.Field+".stopGrace", "is longer than the election's", "5s at most"),
			"f.yaml:10:18: elections[0].runners[0].exec.stopGrace: is longer than the election's (5s at most)"},
		{c.ErrorAt(exec.Node, exec.Field, "unknown kind", strict.Suggest("exce", []string{"exec"})),
			"f.yaml:9:7: elections[0].runners[0].exec: unknown kind (did you mean exec?)"},
		{c.ErrorAt(nil, c.Elections[1].Field+".lock.kind", "not yet", ""), "f.yaml:12:16: elections[1].lock.kind: not yet"},
		{c.ErrorAt(nil, c.Elections[0].Field+".lock.kind", "not yet", ""), "f.yaml:5:3: elections[0].lock.kind: not yet"},
		{c.ErrorAt(c.Elections[1].Node, c.Elections[1].Field, "not yet", ""), "f.yaml:11:3: elections[1]: not yet"},
	} {
		if at.got.Error() != at.want {
			t.Errorf("got  %v\nwant %s", at.got, at.want)
		}
	}
}

func TestJSON(t *testing.T) {
	c, err := config.Parse("f.json", []byte("{\n\t\"apiVersion\": \"primacy.dev/v1alpha1\",\n\t\"kind\": \"PrimacyConfiguration\", \"group\": \"edge\",\n\t\"elections\": [\n\t\t{\"name\": \"a\", \"runners\": [{\"name\": \"w\", \"func\": {\"kind\": \"no\"}}]}\n\t]\n}\n"))
	if err != nil || c.Elections[0].Runners[0].Kind != "func" {
		t.Fatal(c, err)
	}
}

func TestTooLarge(t *testing.T) {
	_, err := config.Parse("f", make([]byte, 9<<20))
	if err == nil || err.Error() != "f: the document is larger than 8 MiB" {
		t.Error(err)
	}
}

func TestNoFile(t *testing.T) {
	if _, err := config.Load("testdata/none.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "testdata/good.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("f", data)
		if err != nil {
			var errs strict.Errors
			if !errors.As(err, &errs) || len(errs) == 0 || errs[0].File != "f" {
				t.Fatalf("not an error with a place: %v", err)
			}
			return
		}
		again, err := config.Parse("canonical", []byte(c.Canonical()))
		if err != nil {
			t.Fatalf("the canonical form is refused: %v\n%s", err, c.Canonical())
		}
		if again.Canonical() != c.Canonical() {
			t.Fatalf("the canonical form changes:\n%s\n%s", c.Canonical(), again.Canonical())
		}
	})
}

// TestDigests checks that a change of a chain, of runners or of their order changes the digest.
func TestDigests(t *testing.T) {
	seen := map[string]string{}
	for _, election := range []string{
		"priority: {policy: revision-location}", "priority: {policy: weight}", "priority: {chain: [weight]}",
		"priority: {chain: [preferred, weight]}", "priority: {chain: [weight, preferred]}", "priority: {chain: ['preferred, weight']}",
		"runners: [{name: a, exec: {}}]", "runners: [{name: a, exec: {}, onExit: stop}]", "runners: [{name: a, exec: {}, mode: stop}]",
		"runners: [{name: a, onExit: release, exec: {}}]", "runners: [{name: a, exec: {}, onExit: restart}]",
		"runners: [{name: a, exec: {}}, {name: b, exec: {}}]", "runners: [{name: b, exec: {}}, {name: a, exec: {}}]",
	} {
		text := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nelections: [{name: a, " + election + "}]"
		c, err := config.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		digest := c.Elections[0].Digest()
		if other := seen[digest]; other != "" {
			t.Errorf("%s has the digest of %s", election, other)
		}
		seen[digest] = election
		again, err := config.Parse("canonical", []byte(c.Canonical()))
		if err != nil {
			t.Fatal(err)
		}
		if again.Elections[0].Digest() != digest {
			t.Errorf("%s: the canonical form is another election", election)
		}
	}
}
