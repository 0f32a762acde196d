package schema

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// dialect is the version of JSON schema that editors know best.
const dialect = "http://json-schema.org/draft-07/schema#"

// JSON is the schema for editors, with a title.
func (s *Schema) JSON(title string) ([]byte, error) {
	text, err := json.Marshal(append(pairs{{"$schema", dialect}, {"title", title}}, s.pairs()...))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// MarshalJSON implements json.Marshaler.
func (s *Schema) MarshalJSON() ([]byte, error) { return json.Marshal(s.pairs()) }

// pairs are the keys and values of a JSON object, in order.
type pairs []pair

type pair struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (ps pairs) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(p.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// plain is Markdown without its links, whose targets an editor cannot find.
func plain(markdown string) string { return link.ReplaceAllString(markdown, "$1") }

func (s *Schema) pairs() (ps pairs) {
	add := func(key string, value any) { ps = append(ps, pair{key, value}) }
	if s.Description != "" {
		add("description", plain(s.Description))
	}
	if s.Either != nil {
		add("anyOf", s.Either)
	}
	if s.Type != "" {
		add("type", s.Type)
	}
	if s.Const != "" {
		add("const", s.Const)
	}
	if s.Enum != nil {
		add("enum", s.Enum)
	}
	if s.Default != nil {
		add("default", s.Default)
	}
	if len(s.Patterns) > 0 {
		add("pattern", s.Patterns[0])
	}
	if len(s.Patterns) > 1 {
		var more []pairs
		for _, p := range s.Patterns[1:] {
			more = append(more, pairs{{"pattern", p}})
		}
		add("allOf", more)
	}
	if s.MaxLength > 0 {
		add("maxLength", s.MaxLength)
	}
	least, most := "minimum", "maximum"
	if s.Type == "array" {
		least, most = "minItems", "maxItems"
	}
	if s.MinExcluded {
		least = "exclusiveMinimum"
	}
	if s.MaxExcluded {
		most = "exclusiveMaximum"
	}
	if s.Min != nil {
		add(least, *s.Min)
	}
	if s.Max != nil {
		add(most, *s.Max)
	}
	if s.Unique {
		add("uniqueItems", true)
	}
	if s.Items != nil {
		add("items", s.Items)
	}
	if s.Type == "object" {
		ps = append(ps, s.mapping()...)
	}
	return ps
}

// mapping are the rules about keys.
func (s *Schema) mapping() (ps pairs) {
	if !s.Open {
		ps = append(ps, pair{"additionalProperties", false})
	}
	var properties, dependencies pairs
	var required []string
	for _, p := range s.Properties {
		properties = append(properties, pair{p.Name, p.Schema})
		if p.Required {
			required = append(required, p.Name)
		}
		if other := p.Needs[0]; other != "" {
			dependencies = append(dependencies, pair{p.Name, pairs{
				{"properties", pairs{{other, pairs{{"const", p.Needs[1]}}}}}, {"required", []string{other}},
			}})
		}
		if other := p.Excludes; other != "" {
			dependencies = append(dependencies, pair{p.Name, pairs{{"properties", pairs{{other, false}}}}})
		}
	}
	if required != nil {
		ps = append(ps, pair{"required", required})
	}
	if dependencies != nil {
		ps = append(ps, pair{"dependencies", dependencies})
	}
	if s.Choice != nil {
		var one []pairs
		for _, name := range s.Choice {
			one = append(one, pairs{{"required", []string{name}}})
		}
		ps = append(ps, pair{"oneOf", one})
	}
	if properties != nil {
		ps = append(ps, pair{"properties", properties})
	}
	return ps
}
