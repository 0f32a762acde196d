package schema_test

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

var update = flag.Bool("update", false, "write testdata/all.json anew")

type inner struct {
	Weight int `yaml:"weight" min:"0"`
}

type itself struct{}

func (itself) Schema() *schema.Schema { return &schema.Schema{Type: "string", Const: "itself"} }

type kind struct{}

type secretive struct{ Hidden int }

func (*secretive) DecodeStrict(*yaml.Node) error { return nil }

// all has one field for each thing that a field can say.
type all struct {
	inner    `yaml:",inline"`
	Name     string            `yaml:"name" strict:"required" form:"short"`
	Word     string            `yaml:"word" default:"a" oneof:"a b"`
	Listed   []string          `yaml:"listed" oneof:"@list" min:"1" max:"2" unique:"true"`
	On       *bool             `yaml:"on" default:"true"`
	For      time.Duration     `yaml:"for" min:">0" otherwise:"as long as needed" needs:"word=b"`
	Share    float64           `yaml:"share" min:">0" max:"<1" excludes:"for"`
	Count    uint32            `yaml:"count"`
	Nested   *inner            `yaml:"nested" without:"weight"`
	Many     []inner           `yaml:"many"`
	Open     map[string]string `yaml:"open"`
	Any      yaml.Node         `yaml:"any"`
	Itself   itself            `yaml:"itself"`
	Kind     kind              `yaml:"kind"`
	Filled   int               `yaml:"filled"`
	Private  secretive         `yaml:"private"`
	Skipped  string            `yaml:"-"`
	internal string
}

const source = `package schema_test

type all struct {
	// What it is called
	// ([more](elsewhere.md)).
	Name string
	Word string // not about the key
}
`

func block() schema.Block {
	return schema.Block{
		Value:  all{Filled: 7, internal: "", Skipped: ""},
		Source: schema.Source{fstest.MapFS{"a.go": {Data: []byte(source)}}},
		Forms:  map[string]schema.Form{"short": {Pattern: "^[a-z]$", Max: 1}},
	}
}

func options() schema.Options {
	return schema.Options{
		Words: map[string][]string{"list": {"x", "y"}},
		Types: map[reflect.Type]*schema.Schema{reflect.TypeFor[kind](): schema.OneOf(nil, schema.Blocks([]string{"k", "l"}, map[string]schema.Block{
			"k": {Value: inner{}, Description: "One of two."},
		}))},
	}
}

func TestJSON(t *testing.T) {
	const golden = "testdata/all.json"
	got, err := block().Schema(options()).JSON("all")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s", got)
	}
}

func TestProperties(t *testing.T) {
	s := block().Schema(options())
	if p := s.Property("name"); p == nil || p.Description != "What it is called ([more](elsewhere.md))." || !p.Required {
		t.Errorf("name is %+v", p)
	}
	if p := s.Property("for"); p.Otherwise != "as long as needed" || p.Called != "duration" || p.Needs != [2]string{"word", "b"} {
		t.Errorf("for is %+v", p)
	}
	if s.Property("Skipped") != nil || s.Property("internal") != nil {
		t.Error("fields without a key are described")
	}
}

// TestMistakesPanic checks that a tag with a mistake is found the first time that it is read.
func TestMistakesPanic(t *testing.T) {
	for want, value := range map[string]any{
		`the unknown form "none"`: struct {
			A string `yaml:"a" form:"none"`
		}{},
		`the unknown words "none"`: struct {
			A string `yaml:"a" oneof:"@none"`
		}{},
		`the bound "much"`: struct {
			A int `yaml:"a" max:"much"`
		}{},
		`the default "few"`: struct {
			A int `yaml:"a" default:"few"`
		}{},
		"cannot describe chan int": struct {
			A chan int `yaml:"a"`
		}{},
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, want) {
					t.Errorf("it said %q", said)
				}
			}()
			schema.Block{Value: value}.Schema(schema.Options{})
		})
	}
}
