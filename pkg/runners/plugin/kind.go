package plugin

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"
	"weak"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// block is the value of `plugin:`.
type block struct {
	// The name of the program in the folder of plugins.
	Name string `yaml:"name" strict:"required" form:"name"`
	// The sha256 of the program: 64 hexadecimal digits in small letters.
	SHA256 string `yaml:"sha256" strict:"required" form:"sha256"`
	// The time between the stop and SIGKILL. At most the election's.
	StopGrace time.Duration `yaml:"stopGrace" otherwise:"the election's"`
	// Environment variables beside those that it gets anyway.
	Env child.Variables `yaml:"env" otherwise:"none"`
	// How much of each of its outputs Primacy logs. After a quiet time ten times as much may come at once.
	Output child.Rate `yaml:"output"`
	// The user that it runs as. Refused where Primacy may not change users.
	User *child.User `yaml:"user" otherwise:"Primacy's own"`
	// What it may use ([more](runners.md#user-and-limits)).
	Limits child.Limits `yaml:"limits" otherwise:"Primacy's own, no core dumps"`
	// The plugin's own part, which Primacy passes on as it stands.
	Config yaml.Node `yaml:"config" otherwise:"none"`
}

//go:embed kind.go
var comments embed.FS

// Block describes `plugin:` blocks.
func Block() schema.Block {
	return schema.Block{
		Value: block{Output: child.DefaultRate}, Source: schema.Source{comments, child.Comments()}, Description: "A program that speaks a protocol.",
		Forms: map[string]schema.Form{"name": {Pattern: nameForm.String()}, "sha256": {Pattern: hashForm.String()}},
	}
}

// Kind decodes `plugin:` blocks, for plugins in the folder. The decoder reads and verifies the
// plugin, and starts it (Env.Later) to ask whether it is ready. It remembers verified plugins, and the configurations
// that each has accepted, for as long as a runner uses the plugin, so that a second decoding is quick.
func Kind(folder Folder) runners.Decoder {
	k := &kind{folder: folder, programs: map[string]weak.Pointer[Program]{}}
	return k.decode
}

type kind struct {
	folder Folder

	mu sync.Mutex
	// programs are the verified plugins that are in use, by name and hash.
	programs map[string]weak.Pointer[Program]
}

func (k *kind) decode(node *yaml.Node, env runners.Env) (election.Runner, error) {
	env = env.Defaults()
	b := block{StopGrace: env.StopGrace, Output: child.DefaultRate}
	if err := strict.Decode(node, &b); err != nil {
		return nil, err
	}
	if err := b.check(node, env.StopGrace); err != nil {
		return nil, err
	}
	config, err := b.config()
	if err != nil {
		return nil, at(node, "config", err)
	}
	program, err := k.load(b.Name, b.SHA256)
	if err != nil {
		return nil, at(node, "name", err)
	}
	child.CheckTree(node, b.User, b.Limits, env.Missing, env.Weaker)
	p := Plugin{
		Name: env.Runner, Program: program, Config: config, Env: b.Env.List(), Output: b.Output,
		Confinement: child.Confine(b.User, b.Limits),
		StopGrace:   b.StopGrace, Clock: env.Clock, Log: env.Log,
	}
	asked := sha256.Sum256([]byte(strings.Join(append([]string{string(config), fmt.Sprint(b.User, b.Limits)}, p.Env...), "\x00")))
	if program.hasAccepted(asked) {
		return New(p), nil
	}
	probe := func(ctx context.Context) error {
		if err := p.Ready(ctx); err != nil {
			return at(node, "name", err)
		}
		program.accept(asked)
		return nil
	}
	if env.Later == nil {
		return New(p), probe(context.Background())
	}
	env.Later(probe)
	return New(p), nil
}

// load reads and verifies a plugin, or returns one from memory that is in use.
func (k *kind) load(name, want string) (*Program, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.programs, func(_ string, p weak.Pointer[Program]) bool { return p.Value() == nil })
	if p := k.programs[name+want].Value(); p != nil {
		return p, nil
	}
	p, err := k.folder.Load(name)
	if err != nil {
		return nil, err
	}
	if p.SHA256 != want {
		_ = p.Close()
		return nil, fmt.Errorf("plugin %s is not the one that the configuration names: its sha256 is %s, not %s (has it been replaced? verify where it comes from before you change the configuration)",
			name, p.SHA256, want)
	}
	k.programs[name+want] = weak.Make(p)
	return p, nil
}

// at returns err with the place of a field of the block.
func at(node *yaml.Node, field string, err error) error {
	place, _ := strict.Lookup(node, field)
	problem, hint := err.Error(), ""
	if i := strings.LastIndex(problem, " ("); i > 0 && strings.HasSuffix(problem, ")") {
		problem, hint = problem[:i], problem[i+2:len(problem)-1]
	}
	return strict.NewError(place, field, problem, hint)
}

var hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// check reports values that decode but make no sense.
func (b *block) check(node *yaml.Node, stopGrace time.Duration) error {
	var errs strict.Errors
	fail := func(field, problem, hint string) {
		place, _ := strict.Lookup(node, field)
		errs = append(errs, strict.NewError(place, field, problem, hint))
	}
	if !nameForm.MatchString(b.Name) {
		fail("name", fmt.Sprintf("%q cannot be the name of a plugin", b.Name),
			"a name has small letters, digits, and . _ - between them; it is no path: plugins are in one folder")
	}
	if !hashForm.MatchString(b.SHA256) {
		fail("sha256", "is not a sha256", "64 hexadecimal digits in small letters, as sha256sum prints them")
	}
	if b.StopGrace < 0 {
		fail("stopGrace", fmt.Sprintf("%v is negative", b.StopGrace), "leave it out to get the election's")
	}
	if b.StopGrace > stopGrace {
		fail("stopGrace", fmt.Sprintf("%v is longer than the election's stopGrace %v: the plugin must be dead before that", b.StopGrace, stopGrace),
			"shorten it, or lengthen the election's")
	}
	errs = append(errs, b.Env.Check(node)...)
	for i, v := range b.Env {
		if strings.HasPrefix(v.Name, "PLUGIN_") {
			fail(fmt.Sprintf("env[%d].name", i), v.Name+" is reserved: go-plugin passes its own settings in such variables", "choose one that does not begin with PLUGIN_")
		}
	}
	errs = append(errs, child.CheckConfinement(node, b.User, b.Limits)...)
	return append(errs, b.Output.Check(node)...).OrNil()
}

var errConfig = errors.New("cannot be passed on")

// config returns the plugin's own part, as YAML.
func (b *block) config() ([]byte, error) {
	if b.Config.IsZero() {
		return nil, nil
	}
	text, err := yaml.Marshal(&b.Config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	return text, nil
}
