package exec

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestReferenceHasEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	of := reflect.TypeFor[block]()
	for i := range of.NumField() {
		key := of.Field(i).Tag.Get("yaml")
		if !strings.Contains(string(text), "| `exec."+key+"` |") {
			t.Errorf("docs/configuration.md does not describe exec.%s", key)
		}
	}
}
