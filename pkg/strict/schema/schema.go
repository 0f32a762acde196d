package schema

// Schema says what a value of a document may be.
type Schema struct {
	// Type is the type in JSON: object, array, string, boolean, integer or number. It is empty if any value
	// may stand there.
	Type string
	// Called is what people call such a value, such as "duration"; empty if Type says enough.
	Called string
	// Description says what the value means, in Markdown.
	Description string
	// Default is the value of an absent key; nil if there is none. Otherwise is the same in words.
	Default   any
	Otherwise string
	// Enum lists the words that a text may be; nil if it may be others.
	Enum []string
	// Patterns are regular expressions, all of which a text matches. MaxLength is its greatest length; zero for
	// no bound.
	Patterns  []string
	MaxLength int
	// Min and Max bound a number, or the number of entries of a list; nil for no bound. MinExcluded: a
	// number must be more than Min. MaxExcluded: it must be less than Max.
	Min, Max                 *float64
	MinExcluded, MaxExcluded bool
	// Unique: the entries of a list differ.
	Unique bool
	// Items describes each entry of a list.
	Items *Schema
	// Properties are the keys of a mapping, in the order of their declaration.
	Properties []Property
	// Open: a mapping may have other keys, too.
	Open bool
	// Choice lists keys of a mapping, exactly one of which is given; nil for no such rule.
	Choice []string
	// Either lists alternatives to this schema.
	Either []*Schema
	// Const is the only value; empty for any.
	Const string
}

// Property is one key of a mapping.
type Property struct {
	Name     string
	Required bool
	// Needs is the key beside this one, and the value that it must have; Excludes is a key that must
	// not stand beside this one. Both are empty without such a rule.
	Needs    [2]string
	Excludes string
	*Schema
}

// Property finds a key of a mapping; nil if there is none.
func (s *Schema) Property(name string) *Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

// Form is a rule for names.
type Form struct {
	// Pattern is a regular expression; Max is the greatest length.
	Pattern string
	Max     int
}

// Duration describes text such as 5s or 1m30s.
func Duration() *Schema {
	return &Schema{Type: "string", Called: "duration", Patterns: []string{duration}}
}

// MoreThanZero describes a duration that is not 0s.
func MoreThanZero() *Schema {
	s := Duration()
	s.Patterns = append(s.Patterns, somePositive)
	return s
}

// duration is what time.ParseDuration accepts, without a minus and without the bare 0.
const duration = `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`

// somePositive is what a duration above zero matches.
const somePositive = `[1-9]`

// Blocks describes the blocks of kinds; a block that is not among blocks may hold anything.
func Blocks(kinds []string, blocks map[string]Block) (list []Property) {
	for _, kind := range kinds {
		s := &Schema{}
		if b, ok := blocks[kind]; ok {
			s = b.Schema(Options{})
			s.Description = b.Description
		}
		list = append(list, Property{Name: kind, Schema: s})
	}
	return list
}

// OneOf describes a mapping with one key, the kind of a block, beside the given keys of its own.
func OneOf(own []Property, kinds []Property) *Schema {
	s := &Schema{Type: "object", Properties: append(own[:len(own):len(own)], kinds...)}
	for _, k := range kinds {
		s.Choice = append(s.Choice, k.Name)
	}
	return s
}
