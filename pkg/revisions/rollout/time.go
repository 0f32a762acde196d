package rollout

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Time is a wall-clock time as it is stored: in UTC, in whole milliseconds.
type Time struct{ time.Time }

const timeForm = "2006-01-02T15:04:05.000Z07:00"

// At returns t as it is stored.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Millisecond)}
}

func (t Time) text() string { return t.UTC().Format(timeForm) }

// MarshalYAML implements yaml.Marshaler.
func (t Time) MarshalYAML() (any, error) { return t.text(), nil }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.text() + `"`), nil }

// DecodeStrict implements strict.Decoder.
func (t *Time) DecodeStrict(node *yaml.Node) error {
	parsed, err := time.Parse(time.RFC3339Nano, node.Value)
	if node.Kind != yaml.ScalarNode || err != nil || parsed.IsZero() || parsed.UTC().Year() < 1 || parsed.UTC().Year() > 9999 {
		return strict.NewError(node, "", fmt.Sprintf("want a time, got %.40q", node.Value), "write it as 2026-11-20T08:58:30Z")
	}
	*t = At(parsed)
	return nil
}
