package config

import (
	"errors"
	"os"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Process holds the settings of one process of Primacy. Flags override the environment, the
// environment overrides the file, and the file overrides the defaults.
type Process struct {
	// Config is the path of the configuration; empty when none is used.
	Config string
	// Kubeconfig is empty if the client's own rules apply.
	Kubeconfig string
	// Context is empty for the kubeconfig's current context. Only a flag sets it.
	Context string
	// Group may be empty when no configuration is used.
	Group string
	// Namespace is empty if that of the client's context applies.
	Namespace string
	Revision  string
	Location  record.Location
	LogLevel  string
	LogFormat string
	// Configuration is the file with flags and environment applied; nil without a file.
	Configuration *Configuration

	over overrides
}

// scalar is one setting of the process. No part of an election is such a setting.
type scalar struct {
	flag string
	// env is empty if no variable sets it.
	env string
	// field is the same setting in the file; empty if the file has none.
	field string
	// otherwise is the default of a setting that the file does not have.
	otherwise string
	usage     string
}

// scalars lists every flag and variable that configures the process. Each variable is
// bound by itself: with a common prefix, we would also read the variables that Kubernetes sets for
// a Service named primacy. No variable may have a name that we also give to runners' children.
var scalars = []scalar{
	{flag: "config", env: "PRIMACY_CONFIG", usage: "path of the configuration"},
	{flag: "kubeconfig", env: "PRIMACY_KUBECONFIG", usage: "path of the kubeconfig; by default KUBECONFIG, ~/.kube/config or the Pod's own"},
	{flag: "context", usage: "context of the kubeconfig; by default its current one"},
	{flag: "namespace", env: "PRIMACY_NAMESPACE", field: fieldNamespace, usage: "namespace of locks and sessions"},
	{flag: "group", env: "PRIMACY_GROUP", field: fieldGroup, usage: "group of members that share elections"},
	{flag: "revision", env: "PRIMACY_REVISION", field: fieldRevision, usage: "revision of this member"},
	{flag: "location", env: "PRIMACY_LOCATION", field: fieldLocation, usage: "location of this member: local or remote"},
	{flag: "log-level", env: "PRIMACY_LOG_LEVEL", otherwise: "info", usage: "debug, info, warn or error"},
	{flag: "log-format", env: "PRIMACY_LOG_FORMAT", otherwise: "json", usage: "json or console"},
}

// AddFlags defines the flags that LoadProcess reads.
func AddFlags(flags *pflag.FlagSet) {
	for _, s := range scalars {
		usage := s.usage
		if s.env != "" {
			usage += " (environment: " + s.env + ")"
		}
		flags.String(s.flag, s.otherwise, usage)
	}
}

// LoadProcess reads flags and environment, and the file that they name. It ignores flags that the
// set does not define. An error names the source of the mistake: the flag,
// the variable, or file and line.
func LoadProcess(flags *pflag.FlagSet) (*Process, error) {
	v, over, err := layers(flags)
	if err != nil {
		return nil, err
	}
	p := &Process{
		Config: v.GetString("config"), Kubeconfig: v.GetString("kubeconfig"), Context: v.GetString("context"),
		LogLevel: v.GetString("log-level"), LogFormat: v.GetString("log-format"),
	}
	if err := checkWords(v, flags); err != nil {
		return nil, err
	}
	p.over = over
	if p.Config == "" {
		if err := p.withoutFile(); err != nil {
			return nil, err
		}
		return p, nil
	}
	data, err := Read(p.Config)
	if err != nil {
		return nil, err
	}
	c, err := p.Parse(p.Config, data)
	if err != nil {
		return nil, err
	}
	p.Configuration = c
	p.take(c)
	return p, nil
}

// Parse reads a document as this process sees it: flags and environment override it.
func (p *Process) Parse(filename string, data []byte) (*Configuration, error) {
	return parse(filename, data, p.over)
}

func (p *Process) take(c *Configuration) {
	p.Group, p.Namespace = c.Group, c.Namespace
	p.Revision, p.Location = c.Member.Revision, c.Member.Location
}

// withoutFile checks flags and environment if there is no document.
func (p *Process) withoutFile() error {
	var doc document
	nothing := &yaml.Node{Kind: yaml.MappingNode}
	r := &resolver{cfg: &Configuration{root: nothing, sources: p.over.apply(&doc)}}
	if r.given(fieldGroup) {
		r.name(fieldGroup, doc.Group, dnsLabel)
	}
	r.cfg.Group = doc.Group
	r.namespace(&doc)
	r.member(doc.Member)
	p.take(r.cfg)
	return r.errs.OrNil()
}

// layers stacks flags over environment over defaults, and says which of the document's
// fields they replace. The document itself never goes through viper, which lowercases
// keys and splits them at dots.
func layers(flags *pflag.FlagSet) (*viper.Viper, overrides, error) {
	v := viper.New()
	over := make(overrides)
	for _, s := range scalars {
		v.SetDefault(s.flag, s.otherwise)
		if s.env != "" {
			if err := v.BindEnv(s.flag, s.env); err != nil {
				return nil, nil, err
			}
		}
		if f := lookup(flags, s.flag); f != nil {
			if err := v.BindPFlag(s.flag, f); err != nil {
				return nil, nil, err
			}
		}
		if source := s.source(flags); source != "" && s.field != "" {
			over[s.field] = setting{value: v.GetString(s.flag), source: source}
		}
	}
	return v, over, nil
}

func lookup(flags *pflag.FlagSet, name string) *pflag.Flag {
	if flags == nil {
		return nil
	}
	return flags.Lookup(name)
}

// source is the flag or variable that overrides the file; empty if none is set. An empty
// variable counts as unset.
func (s scalar) source(flags *pflag.FlagSet) string {
	if f := lookup(flags, s.flag); f != nil && f.Changed {
		return "flag --" + s.flag
	}
	if s.env != "" && os.Getenv(s.env) != "" {
		return "environment variable " + s.env
	}
	return ""
}

// checkWords checks the settings that a document cannot have.
func checkWords(v *viper.Viper, flags *pflag.FlagSet) error {
	allowed := map[string][]string{"log-level": {"debug", "info", "warn", "error"}, "log-format": {"json", "console"}}
	var errs []error
	for _, s := range scalars {
		words, checked := allowed[s.flag]
		if value := v.GetString(s.flag); checked {
			if problem, hint := notOneOf(value, words); problem != "" {
				errs = append(errs, &strict.Error{File: s.source(flags), Problem: problem, Hint: hint})
			}
		}
	}
	return errors.Join(errs...)
}
