package config

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/internal/watchfile"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// maxSize bounds a document. A ConfigMap holds 1 MiB.
const maxSize = 8 << 20

// Load reads the document in a file. See Parse.
func Load(path string) (*Configuration, error) {
	data, err := Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// LoadFrom is Load where flags replace parts of the document.
func LoadFrom(path string, o Outside) (*Configuration, error) {
	data, err := Read(path)
	if err != nil {
		return nil, err
	}
	return parse(path, data, o.over)
}

// Parse reads one YAML (or JSON) document. Mistakes come as a strict.Errors with the
// place of each in the named file.
func Parse(filename string, data []byte) (*Configuration, error) {
	return parse(filename, data, nil)
}

// Read returns what a file holds, for Parse and Survey.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return readAll(f)
}

// readFile is Read for a path that may be anything by now: opening a pipe without a writer
// must not block.
func readFile(path string) ([]byte, error) {
	f, err := watchfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return readAll(f)
}

func readAll(f *os.File) ([]byte, error) {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return data, nil
}

// Survey reads a document as Parse does. Along with the mistakes it returns as much as it could read.
// The caller can decode the blocks in there to find more mistakes; see Independent. The result is nil if the
// document is not a PrimacyConfiguration. If there are mistakes, it is good for nothing else.
func Survey(filename string, data []byte, o Outside) (*Configuration, error) {
	root, err := open(filename, data)
	if err != nil {
		return nil, err
	}
	return survey(filename, root, o.over, nil)
}

// Outside is what a command line says in place of documents; the zero value says nothing.
type Outside struct{ over overrides }

// OutsideOf is what those settings say that the set has flags for: by their flags, and by their environment variables.
func OutsideOf(flags *pflag.FlagSet) (Outside, error) {
	_, all, err := layers(flags)
	if err != nil {
		return Outside{}, err
	}
	over := overrides{}
	for _, s := range scalars {
		if said, is := all[s.field]; is && lookup(flags, s.flag) != nil {
			over[s.field] = said
		}
	}
	return Outside{over}, nil
}

func parse(filename string, data []byte, over overrides) (*Configuration, error) {
	root, err := open(filename, data)
	if err != nil {
		return nil, err
	}
	return resolve(filename, root, over, nil)
}

// open parses bytes that hold exactly one PrimacyConfiguration.
func open(filename string, data []byte) (*yaml.Node, error) {
	root, err := single(data)
	if err == nil {
		err = header(root)
	}
	if err == nil {
		err = strict.Plain(root)
	}
	return root, strict.Rebase(err, filename, "", nil)
}

// resolve fills in and checks a document. process is the configuration in force in a running
// process; nil for one that starts.
func resolve(filename string, root *yaml.Node, over overrides, process *Configuration) (*Configuration, error) {
	c, err := survey(filename, root, over, process)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// survey resolves the parts that can be decoded, even if others cannot.
func survey(filename string, root *yaml.Node, over overrides, process *Configuration) (*Configuration, error) {
	doc := document{Member: memberDoc{Weight: DefaultWeight}}
	undecoded := within(strict.Decode(root, &doc), "", nil)
	for _, e := range undecoded {
		e.File = filename
	}
	r := &resolver{
		cfg:       &Configuration{File: filename, root: root, over: over, sources: over.apply(&doc)},
		process:   process,
		undecoded: undecoded,
	}
	r.resolve(&doc)
	errs := append(undecoded, r.errs...)
	return r.cfg, errs.OrNil()
}

// resolvedFor resolves the document for a process in which another configuration is in force.
func (c *Configuration) resolvedFor(process *Configuration) (*Configuration, error) {
	return resolve(c.File, c.root, c.over, process)
}

// single parses bytes that hold exactly one document and returns its content.
func single(data []byte) (*yaml.Node, error) {
	if len(data) > maxSize {
		return nil, strict.NewError(nil, "", fmt.Sprintf("the document is larger than %d MiB", maxSize>>20), "")
	}
	switch root, err := strict.Document(data); {
	case err != nil:
		return nil, err
	case root == nil:
		return nil, strict.NewError(nil, "", "there is no document", "begin with apiVersion: "+APIVersion)
	default:
		return root, nil
	}
}

// header refuses documents of another kind before it looks at anything else.
func header(root *yaml.Node) error {
	if root.Kind != yaml.MappingNode {
		return strict.NewError(root, "", "want a mapping", "begin with apiVersion: "+APIVersion)
	}
	var errs strict.Errors
	for _, want := range []struct{ field, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		node, given := strict.Lookup(root, want.field)
		switch hint := fmt.Sprintf("write %s: %s", want.field, want.value); {
		case !given:
			errs = append(errs, strict.NewError(root, want.field, "is missing", hint))
		case node.Kind != yaml.ScalarNode || node.Value != want.value:
			errs = append(errs, strict.NewError(node, want.field, "is not of a kind that Primacy knows", hint))
		}
	}
	return errs.OrNil()
}
