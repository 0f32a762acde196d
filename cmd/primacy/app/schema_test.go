package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/config"
)

// editor is the schema as an editor reads it.
func editor(t *testing.T) func(document []byte) error {
	t.Helper()
	text, err := add(nil).schema().JSON("test")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(document []byte) error {
		var doc any
		if err := yaml.Unmarshal(document, &doc); err != nil {
			return err
		}
		asJSON, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(value)
	}
}

func TestSchemaAcceptsExamples(t *testing.T) {
	judge := editor(t)
	files, err := filepath.Glob("../../../config/examples/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := judge(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaAcceptsWhatScriptsRun checks the configurations of all scripts: the schema accepts each that the
// program accepts.
func TestSchemaAcceptsWhatScriptsRun(t *testing.T) {
	judge := editor(t)
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			c, err := config.Parse(f.Name, f.Data)
			if err != nil {
				continue
			}
			if _, err := add(nil).checker().plan(t.Context(), c); err != nil {
				continue
			}
			accepted++
			if err := judge(f.Data); err != nil {
				t.Errorf("%s in %s: %v", f.Name, script, err)
			}
		}
	}
	if accepted < 20 {
		t.Errorf("%d configurations were checked", accepted)
	}
}

// TestSchemaRefusesWhatRegistriesRefuse tries mistakes in what the registries know.
func TestSchemaRefusesWhatRegistriesRefuse(t *testing.T) {
	judge := editor(t)
	of := func(election string) []byte {
		return []byte("apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nelections: [{name: a, " + election + "}]\n")
	}
	if err := judge(of("runners: [{name: w, exec: {command: [a], stopGrace: 1s, env: [{name: A, value: b}], limits: {memory: 5Mi, core: 7}}}]")); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{
		"lock: {kind: Endpoints}", "priority: {policy: wieght}", "priority: {chain: [preferred, wieght]}",
		"runners: [{name: w}]", "runners: [{name: w, exce: {command: [a]}}]", "runners: [{name: w, exec: {command: [a]}, func: {kind: demo.heartbeat}}]",
		"runners: [{name: w, exec: {command: []}}]", "runners: [{name: w, exec: {}}]", "runners: [{name: w, exec: {command: [a], dri: /}}]",
		"runners: [{name: w, exec: {command: [a], output: {linesPerSecond: 0}}}]", "runners: [{name: w, exec: {command: [a], output: {bytesPerSecond: 1000000001}}}]", "runners: [{name: w, exec: {command: [a], limits: {memory: 5Mb}}}]",
		"runners: [{name: w, exec: {command: [a], user: {uid: 1}}}]", "runners: [{name: w, mode: allways, func: {kind: demo.heartbeat}}]",
		"runners: [{name: w, onExit: again, exec: {command: [a]}}]", "runners: [{name: w, func: {kind: demo.heartbeet}}]", "runners: [{name: w, plugin: {}}]",
	} {
		c, err := config.Parse("f", of(wrong))
		if err == nil {
			_, err = add(nil).checker().plan(t.Context(), c)
		}
		if err == nil {
			t.Errorf("the program accepts %s", wrong)
		}
		if judge(of(wrong)) == nil {
			t.Errorf("the schema accepts %s", wrong)
		}
	}
}
