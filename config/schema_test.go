package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// standIn are the kinds of this test: any words will do.
func standIn() Kinds {
	anything := &schema.Schema{}
	return Kinds{
		Locks: []string{"Lease", "ConfigMap"}, Policies: []string{"revision-location", "none", "weight"}, Keys: []string{"preferred", "location", "weight"},
		Sources: []schema.Property{{Name: "configMap", Schema: anything}, {Name: "static", Schema: &schema.Schema{Type: "object", Open: true}}, {Name: "file", Schema: anything}},
		Runners: []schema.Property{{Name: "exec", Schema: anything}, {Name: "func", Schema: anything}},
		Modes:   []string{"leader", "always"}, Exits: []string{"restart", "release", "stop"},
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(standIn()).JSON("test")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// judge is what an editor with the schema says of a document; text that is not YAML is refused.
func judge(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
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

// beyond are beginnings of problems that a schema cannot see, each with its reason.
var beyond = []struct{ problem, because string }{
	{"is missing (add group:", "a flag may name it"},
	{"is longer than a year", "a pattern cannot compare durations"},
	{"is too long: a dead", "a pattern cannot compare durations"},
	{"no renewal may fail", "it is arithmetic"},
	{"is too short", "a pattern cannot compare durations"},
	{"is not a whole number of seconds", "the unit may be another"},
	{"is no IP address with a port", "only the address itself can tell"},
	{"is not a loopback address", "only the address itself can tell"},
	{"cannot be combined with", "it is about two blocks"},
	{"both are there", "it is about two blocks"},
	{"open is only for loopback addresses", "only the address itself can tell"},
	{"is the lock that the election has now", "it is about two fields"},
	{"belongs to elections[", "it is about two elections"},
	{"is the name of elections[", "it is about two elections"},
	{"sessions are Leases", "it is about two fields"},
	{"is a boolean, want text", "YAML 1.2, which editors read, has no such booleans"},
	{"must be more than 1.2 x", "it is arithmetic"},
	{"a claim would wait", "it is arithmetic"},
	{"must be more than 0 and at most a year", "an absent timing is the zero value, and a bound of a year is arithmetic"},
	{"may be the name of a session", "it needs the group"},
	{"is given as", "it is about two blocks"},
	{"is a date, want text", "YAML 1.2, which editors read, has no dates"},
	{"aliases", "an editor reads what they stand for"}, {"anchors", "an editor reads what they stand for"},
	{"merge keys", "an editor reads what they stand for"}, {"tags", "an editor reads what they stand for"},
	{"a second document begins here", "an editor judges each by itself"},
	{"with enabled: false there is no leader", "it is about two fields"},
	{"but not where the sessions are", "a flag may name it"},
	{"renewal: session needs", "it is about two blocks"},
}

func sayable(err error) bool {
	return slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool {
		for _, b := range beyond {
			if strings.Contains(line, b.problem) {
				return false
			}
		}
		return true
	})
}

// TestSchemaRefusesWhatParseRefuses feeds each known mistake to the schema.
func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	s := compile(t)
	docs := map[string][]byte{}
	for _, w := range wrongs {
		text := w.text
		if !strings.HasPrefix(text, "apiVersion") {
			text = "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\n" + text
		}
		docs[text] = []byte(text)
	}
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		docs[name] = text
	}
	refused := 0
	for name, text := range docs {
		_, err := Parse("f", text)
		if err == nil {
			t.Errorf("%s: Parse accepts it", name)
			continue
		}
		said := judge(t, s, text)
		if said != nil {
			refused++
		}
		if said == nil && sayable(err) {
			t.Errorf("the schema accepts\n%s\n%v", name, err)
		}
	}
	if refused < 60 {
		t.Errorf("the schema refuses %d of %d documents", refused, len(docs))
	}
}

func TestSchemaAcceptsWhatParseAccepts(t *testing.T) {
	s := compile(t)
	text, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse("good.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	for name, doc := range map[string][]byte{"good.yaml": text, "its canonical form": []byte(c.Canonical())} {
		if err := judge(t, s, doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, d := range []string{"5s", "1m30s", ".5s", "1.5h", "+2s", "1h0m1s", "100ms"} {
		doc := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ntiming: {standDown: " + d + "}\nelections: []\n"
		if err := judge(t, s, []byte(doc)); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// TestSchemaKnowsTheKeys checks descriptions, defaults and words of every key by what Parse makes of them.
func TestSchemaKnowsTheKeys(t *testing.T) {
	defaults, words := 0, 0
	var walk func(path string, s *schema.Schema)
	walk = func(path string, s *schema.Schema) {
		for i := range s.Properties {
			p := &s.Properties[i]
			at := strict.Join(path, p.Name)
			if p.Description == "" && p.Type != "" {
				t.Errorf("%s has no description: write a comment above its field", at)
			}
			if p.Default != nil && !strings.Contains(at, "runners[0]") { // package config has no defaults of runners
				defaults++
				if err := effectOf(at, fmt.Sprint(p.Default)); err != "" {
					t.Errorf("%s is not %v by default: %s", at, p.Default, err)
				}
			}
			if err := mistakeAt(at, "bogus"); p.Enum != nil && err != nil && strings.Contains(err.Error(), "want") {
				found := func(list string) bool {
					return strings.Contains(err.Error(), list+",") || strings.Contains(err.Error(), list+")")
				}
				if !found("want "+strings.Join(p.Enum, " or ")) && !found("want one of "+strings.Join(p.Enum, ", ")) {
					t.Errorf("%s has other words than %q: %v", at, p.Enum, err)
				}
			}
			for _, w := range p.Enum {
				words++
				if err := mistakeAt(at, w); err != nil {
					t.Errorf("%s: %s is refused: %v", at, w, err)
				}
			}
			if p.Items != nil {
				walk(at+"[0]", p.Items)
			}
			walk(at, p.Schema)
		}
	}
	walk("", Schema(standIn()))
	if defaults < 9 || words < 20 {
		t.Errorf("%d defaults and %d words were checked", defaults, words)
	}
}

// with is a document that sets one more field.
func with(path, value string) []byte {
	const head = "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\n"
	steps := strings.Split(path, ".")
	nested := value
	for i := len(steps) - 1; i > 0; i-- {
		nested = "{" + steps[i] + ": " + nested + "}"
	}
	switch election, rest, _ := strings.Cut(path, "."); {
	case path == "":
		return []byte(head + "elections: [{name: a}]\n")
	case election == "elections[0]" && rest != "name":
		return []byte(head + "elections: [{name: a, " + strings.TrimPrefix(nested, "{") + "]\n")
	case path == "apiVersion" || path == "kind":
		return []byte(head + "elections: [{name: a}]\n")
	}
	return []byte(head + steps[0] + ": " + nested + "\nelections: [{name: a}]\n")
}

// effectOf says what a field set to its default changes; empty for nothing.
func effectOf(path, value string) string {
	without, err := Parse("f", with("", ""))
	if err != nil {
		return err.Error()
	}
	explicit, err := Parse("f", with(path, value))
	if err != nil {
		return err.Error()
	}
	if !same(without, explicit) {
		return explicit.Canonical()
	}
	return ""
}

// mistakeAt is what Parse refuses about the very field.
func mistakeAt(path, value string) error {
	_, err := Parse("f", with(path, value))
	if err != nil && strings.Contains(err.Error(), ": "+path+": ") {
		return err
	}
	return nil
}
