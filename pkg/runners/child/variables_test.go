//go:build linux

package child

import (
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// TestVariablesShowNoValue checks that no error shows the value of a variable, which may be a secret,
// in whatever form it was written.
func TestVariablesShowNoValue(t *testing.T) {
	for text, want := range map[string]string{
		"env: [{name: P, value: 31337}]":              "1:24: env[0].value: want text; what stands here is not shown (write it in quotes)",
		"env: [{name: P, value: 31337.5}]":            "env[0].value: want text",
		"env: [{name: P, value: 0x31337}]":            "env[0].value: want text",
		"env: [{name: P, value: [31337]}]":            "env[0].value: want text",
		"env: [{name: P, value: {a: 31337}}]":         "env[0].value: want text",
		"env: [{name: P, value: 3133-07-01}]":         "env[0].value: want text",
		"env: [P=31337]":                              "1:7: env[0]: want a mapping of name and value (write each as - {name: NAME, value: VALUE})",
		"env: P=31337":                                "1:6: env: want a list of variables (write each as - {name: NAME, value: VALUE})",
		"env: {P: 31337}":                             "1:6: env: want a list of variables",
		"env: [{name: P, value: '31337', valeu: x}]":  "env[0].valeu: unknown field (did you mean value?)",
		"env: [{name: P, value: \"31337\\0\"}]":       "env[0].value: has a NUL byte in it",
		"env: [{name: P, value: '31337'}, {name: P}]": "env[1].value: is missing",
	} {
		node, err := strict.Document([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var block struct {
			Env Variables `yaml:"env"`
		}
		if err = strict.Decode(node, &block); err == nil {
			err = block.Env.Check(node).OrNil()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "3133") {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}
