package status

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Format is an output format of a Report.
type Format string

const (
	// Table is for people.
	Table Format = "table"
	// JSON is one document with everything in a Report.
	JSON Format = "json"
	// YAML is the same in YAML.
	YAML Format = "yaml"
	// Names is the name of each election, one a line.
	Names Format = "name"
)

var formats = []string{string(Table), string(JSON), string(YAML), string(Names)}

// ParseFormat reads the name of a format. The error lists the known names.
func ParseFormat(s string) (Format, error) {
	for _, f := range formats {
		if f == s {
			return Format(f), nil
		}
	}
	hint := ""
	if near := strict.Nearest(s, formats); near != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return "", fmt.Errorf("want %s, got %q%s", strings.Join(formats, ", "), s, hint)
}

// Write writes the report in a format.
func (r Report) Write(w io.Writer, f Format) error {
	var text []byte
	var err error
	switch f {
	case JSON:
		text, err = json.MarshalIndent(r, "", "  ")
		text = append(text, '\n')
	case YAML:
		text, err = yaml.Marshal(r)
	case Names:
		for _, e := range r.Elections {
			text = append(append(text, e.Name...), '\n')
		}
	default:
		text = []byte(r.table())
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
