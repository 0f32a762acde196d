package config

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// document is the schema of the file. The comments of its fields, and of those of all blocks, are the
// reference of the configuration and the descriptions in the JSON schema.
type document struct {
	// The version of this format.
	APIVersion string `yaml:"apiVersion" strict:"required" oneof:"primacy.dev/v1alpha1"`
	// The kind of document.
	Kind string `yaml:"kind" strict:"required" oneof:"PrimacyConfiguration"`
	// The members that share these elections. Required, unless `--group` or `PRIMACY_GROUP` names it (`primacy simulate` reads neither). Groups of one namespace need locks of different names.
	Group string `yaml:"group" form:"label" otherwise:"that of --group or PRIMACY_GROUP"`
	// The namespace of locks and sessions.
	Namespace string `yaml:"namespace" form:"label" otherwise:"that of the kubeconfig or of the Pod"`
	// This process, as a member of the group.
	Member memberDoc `yaml:"member"`
	// Where the preferred revision comes from: a revision, or one of the [sources](#sources).
	DefaultRevision *sourceDoc `yaml:"defaultRevision" otherwise:"no revision is preferred"`
	// The [timings](#timings) of the session, and of elections without their own.
	Timing timingDoc `yaml:"timing" otherwise:"the profile default"`
	// The [endpoints](endpoints.md) of this member: `/livez`, `/readyz`, `/metrics`, `/api/v1/elections`, `/api/v1/events` and `/debug/pprof/`.
	HTTP *httpDoc `yaml:"http" otherwise:"not served"`
	// The former name of `http`, for a loopback address alone. Write `http`.
	Metrics *metricsDoc `yaml:"metrics" otherwise:"not served"`
	// The list of [elections](#elections). It may be empty (`[]`).
	Elections []*electionDoc `yaml:"elections" strict:"required"`
}

type memberDoc struct {
	// Its revision.
	Revision string `yaml:"revision" default:"default" form:"value"`
	// Where it runs. [Policies](revisions.md#policies) compare it.
	Location string `yaml:"location" default:"local" oneof:"local remote"`
	// For `policy: weight` and for `priority.chain`.
	Weight int `yaml:"weight" default:"100" min:"0"`
	// How others may know that this member is dead before its session has lapsed, beside its parent's proof: `cgroup` lets the next member that starts
	// in its place find [its control group](death.md#killed-together-with-its-parent) empty, `operator` lets [`primacy bury`](death.md#when-a-person-knows) do that,
	// `kubelet` the [kubelet](death.md#when-the-kubelet-knows) of its node, and `out-of-service` a [taint](death.md#when-a-node-is-out-of-service) of its node.
	Proofs []string `yaml:"proofs,omitempty" oneof:"cgroup operator kubelet out-of-service" unique:"true" otherwise:"none"`
	// Whether this member removes [sessions that ended long ago](operating.md#sessions-that-ended). It needs the right to delete Leases.
	RemoveSessions bool `yaml:"removeSessions,omitempty" default:"false"`
}

type timingDoc struct {
	// A row of the table of profiles: its values apply to absent keys.
	Profile string `yaml:"profile" otherwise:"default; in an election, the document's timing" oneof:"@profiles"`
	// How long one renewal is valid. Whole seconds, from 1s to 1h.
	LeaseDuration *time.Duration `yaml:"leaseDuration" otherwise:"the profile's" min:">0"`
	// The time between two renewals. More than 0.
	RenewInterval *time.Duration `yaml:"renewInterval" otherwise:"the profile's" min:">0"`
	// The time that runners get to stop before they are killed. More than 0.
	StopGrace *time.Duration `yaml:"stopGrace" otherwise:"the profile's" min:">0"`
	// How long other members leave a free lock to the named successor. After a death, the second in line waits this much longer than the first; all further ones wait twice this, and a random part of it. More than 0.
	NominateDelay *time.Duration `yaml:"nominateDelay" otherwise:"the profile's" min:">0"`
	// How long another member must have been better before the holder hands over to it. 0s or more.
	PreemptDelay *time.Duration `yaml:"preemptDelay" otherwise:"the profile's"`
	// How old a term must be before the holder hands over to a better member. 0s or more.
	MinHold *time.Duration `yaml:"minHold" otherwise:"the profile's"`
	// How long others pass over a member that crashed, or whose runners failed. It doubles each time, up to 32 x. More than 0.
	StandDown *time.Duration `yaml:"standDown" otherwise:"the profile's" min:">0"`
	// How far the rates of two members' clocks may differ: 0.005 is 0.5 %. NTP may slew a clock by more ([what helps](operating.md#clocks-that-ntp-slews)). More than 0, less than 0.5. Only in the document's `timing`, since it is the same for all elections.
	Drift *float64 `yaml:"drift" otherwise:"the profile's" min:">0" max:"<0.5"`
}

type electionDoc struct {
	// Its name, unique in the file. `rollout-<group>` is refused: the leader of that election drives rollouts.
	Name string `yaml:"name" strict:"required" form:"election"`
	// `group`: one election for all members. `revision`: one for each revision; a dash and the revision are added to its name and to the lock's ([more](revisions.md#one-election-for-each-revision)).
	Scope string `yaml:"scope" default:"group" oneof:"group revision"`
	// `false`: there is no election, and every member runs the runners ([more](runners.md#without-an-election)). Refused with `range: true` and `outage: failopen`.
	Enabled *bool `yaml:"enabled" default:"true"` // nil if absent
	// The object that says who leads.
	Lock lockDoc `yaml:"lock"`
	// Who outranks whom ([policies](revisions.md#policies)).
	Priority priorityDoc `yaml:"priority"`
	// The [timings](#timings) of this election, except `drift`.
	Timing timingDoc `yaml:"timing" without:"drift" otherwise:"the document's"`
	// For a lock that does not exist: `wait` until it has been absent for one leaseDuration, or lead at once (`immediate`), which is only for locks that nobody deletes. A member whose watch of the Leases beside the sessions has shown for that long that there is no such lock does not wait.
	Bootstrap string `yaml:"bootstrap" default:"wait" oneof:"wait immediate"`
	// `true`: terms have ranges of wall-clock time ([ranges.md](ranges.md)). Refused with `sharedWith` and `migrateFrom`.
	Range bool `yaml:"range" default:"false"`
	// While the API server cannot be reached: `stop` the work in time, or `failopen`: go on, although two members may then work at once ([ranges.md](ranges.md#when-the-api-server-is-away)). `failopen` is refused with `sharedWith` and `migrateFrom`.
	Outage string `yaml:"outage" default:"stop" oneof:"stop failopen"`
	// Only with `outage: failopen`: how long work goes on after the lock has expired. More than 0, or `unbounded`.
	FailopenFor *boundDoc `yaml:"failopenFor" otherwise:"10 x leaseDuration" needs:"outage=failopen"` // nil if absent
	// When the lock is free after its holder was [proved dead](death.md): at once (`proof`), or after a lease (`lease`), for work that goes on outside the member until `PRIMACY_DEADLINE`. All members need the same.
	OnDeath string `yaml:"onDeath" default:"proof" oneof:"proof lease"`
	// `true`: while a member in a Pod leads, its Pod has the label `leads.primacy.dev/<election>: <group>`, so that a Service can follow it ([more](deploy.md#a-service-that-follows-the-leader)). Refused with `enabled: false`.
	LeaderLabel bool `yaml:"leaderLabel" default:"false"`
	// The [work](#runners). Without runners leadership itself is the product, and others read it from the lock.
	Runners []runnerDoc `yaml:"runners" otherwise:"none"`
}

// The canonical form leaves out what may be empty.
type lockDoc struct {
	// Where the lock is kept.
	Kind string `yaml:"kind" default:"Lease" oneof:"@locks"`
	// The object's name. Refused: the lock of another election; a name that a session or the ConfigMap of the rollout may have (`primacy-<group>-...`); and the ConfigMap that `defaultRevision` reads.
	Name string `yaml:"name" form:"object" otherwise:"the election's name"`
	// The namespace that holds it, such as `kube-system` ([more](moving.md#a-lock-in-another-namespace)). With it the configuration must say the `namespace` of the sessions, too.
	Namespace string `yaml:"namespace,omitempty" form:"label" otherwise:"that of the sessions"`
	// `session`: the member's session keeps the lock alive, with one write for all locks. `record`: each renewal writes the lock itself. A ConfigMap, a lock in another namespace, one that is shared or migrates, `range: true`, `outage: failopen`, and a leaseDuration or renewInterval of the election's own need `record`; `session` is refused with them.
	Renewal string `yaml:"renewal,omitempty" oneof:"session record" otherwise:"session if possible, record if an elector that is not Primacy's ever held the lock"`
	// Whose electors may hold the lock, too: client-go's or Istio's ([interop.md](interop.md)).
	SharedWith string `yaml:"sharedWith,omitempty" oneof:"client-go istio" otherwise:"nobody"`
	// The timings of client-go's electors. Only with `sharedWith: client-go`.
	Foreign *foreignDoc `yaml:"foreign,omitempty" needs:"sharedWith=client-go" otherwise:"unknown"`
	// The lock that the election had until now ([moving.md](moving.md)). It must differ from the new one.
	MigrateFrom *migrationDoc `yaml:"migrateFrom,omitempty"`
}

type migrationDoc struct {
	// Where that lock is kept.
	Kind string `yaml:"kind" oneof:"@locks" otherwise:"that of the lock"`
	// The object's name.
	Name string `yaml:"name" form:"object" otherwise:"that of the lock, without a revision"`
	// The namespace that holds it.
	Namespace string `yaml:"namespace,omitempty" form:"label" otherwise:"that of the lock"`
}

type foreignDoc struct {
	// More than 1.2 x retryPeriod, as client-go requires.
	RenewDeadline time.Duration `yaml:"renewDeadline" otherwise:"required" min:">0"`
	// More than 0; 3 x renewDeadline + retryPeriod is at least 1s.
	RetryPeriod time.Duration `yaml:"retryPeriod" otherwise:"required" min:">0"`
}

type priorityDoc struct {
	// A named order of members.
	Policy string `yaml:"policy" default:"revision-location" oneof:"@policies"`
	// Instead of a policy: one to three keys, each once. On a lock shared with Istio, `preferred` before `location`.
	Chain []string `yaml:"chain" oneof:"@keys" min:"1" unique:"true" excludes:"policy"`
	// The same as `timing.preemptDelay`. Giving both is refused.
	PreemptDelay *time.Duration `yaml:"preemptDelay"`
	// The same as `timing.minHold`. Giving both is refused.
	MinHold *time.Duration `yaml:"minHold"`
}

// runnerDoc is the entry of a runner: its name, and a block under the key of its kind.
type runnerDoc struct {
	name   string
	mode   string
	onExit string
	kind   string
	node   *yaml.Node
	entry  *yaml.Node
}

// DecodeStrict separates the name and other common keys from the block of the kind.
func (r *runnerDoc) DecodeStrict(node *yaml.Node) error {
	var fields map[string]*yaml.Node
	if err := strict.Decode(node, &fields); err != nil {
		return err
	}
	var errs strict.Errors
	if name, given := fields["name"]; !given {
		errs = append(errs, strict.NewError(node, "name", "is missing", "add name: ..."))
	} else if err := strict.Decode(name, &r.name); err != nil {
		errs = append(errs, within(err, "name", name)...)
	}
	delete(fields, "name")
	text := func(field string, into *string) {
		if node, given := fields[field]; given {
			if err := strict.Decode(node, into); err != nil {
				errs = append(errs, within(err, field, node)...)
			}
		}
		delete(fields, field)
	}
	text("mode", &r.mode)
	text("onExit", &r.onExit)
	kind, block, err := oneKind(node, fields, "exec: {...}", "make each a runner of its own")
	if err != nil {
		errs = append(errs, err)
	}
	r.kind, r.node, r.entry = kind, block, node
	return errs.OrNil()
}

// sourceDoc is a mapping with one key, the kind of the source, or just a revision.
type sourceDoc struct {
	kind string
	node *yaml.Node
}

// kindStatic is the kind of source that a document means by a plain revision.
const kindStatic = "static"

// DecodeStrict reads {kind: block}. A plain revision means {static: {revision: REVISION}}, as
// does {static: REVISION}.
func (s *sourceDoc) DecodeStrict(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return s.static(node)
	}
	var fields map[string]*yaml.Node
	if err := strict.Decode(node, &fields); err != nil {
		return err
	}
	kind, block, err := oneKind(node, fields, `static: {revision: "1-9-0"}`, "keep the one that applies")
	if err != nil {
		return err
	}
	if kind == kindStatic && block.Kind == yaml.ScalarNode {
		return strict.Rebase(s.static(block), "", kindStatic, block)
	}
	s.kind, s.node = kind, block
	return nil
}

func (s *sourceDoc) static(revision *yaml.Node) error {
	var text string
	if err := strict.Decode(revision, &text); err != nil {
		return err
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "revision", Line: revision.Line, Column: revision.Column}
	s.kind = kindStatic
	s.node = &yaml.Node{
		Kind: yaml.MappingNode, Tag: "!!map", Line: revision.Line, Column: revision.Column,
		Content: []*yaml.Node{key, revision},
	}
	return nil
}

// oneKind finds the only key of a block.
func oneKind(at *yaml.Node, fields map[string]*yaml.Node, example, several string) (string, *yaml.Node, *strict.Error) {
	kinds := make([]string, 0, len(fields))
	for kind := range fields {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	switch len(kinds) {
	case 0:
		return "", nil, strict.NewError(at, "", "has no kind", "add one, such as "+example)
	case 1:
		return kinds[0], fields[kinds[0]], nil
	}
	const shown = 5
	list := strings.Join(kinds[:min(len(kinds), shown)], ", ")
	return "", nil, strict.NewError(at, "", fmt.Sprintf("want one kind, got %d: %.200q", len(kinds), list), several)
}

// within puts the block's path before the fields that errors name.
func within(err error, path string, block *yaml.Node) strict.Errors {
	errs, _ := strict.Rebase(err, "", path, block).(strict.Errors)
	return errs
}
