package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// resolver fills in what a document leaves out and checks what it says.
type resolver struct {
	cfg  *Configuration
	errs strict.Errors
	// process is the configuration in force in a running process; nil for one that starts.
	process *Configuration
	// undecoded are the fields that could not be decoded: they look absent.
	undecoded strict.Errors
}

// fail records a mistake in one field, unless the field could not be decoded.
func (r *resolver) fail(field, hint, problem string, args ...any) {
	if slices.ContainsFunc(r.undecoded, func(e *strict.Error) bool { return holds(e.Field, field) || holds(field, e.Field) }) {
		return
	}
	r.errs = append(r.errs, r.cfg.errorAt(nil, field, fmt.Sprintf(problem, args...), hint))
}

// clash records that fields of one block do not fit together, unless some field of the block could
// not be decoded: with that field the block may be right.
func (r *resolver) clash(field, hint, problem string, args ...any) {
	if !r.obscure(blockOf(field)) {
		r.fail(field, hint, problem, args...)
	}
}

// obscure says whether some field of a block could not be decoded.
func (r *resolver) obscure(block string) bool {
	return slices.ContainsFunc(r.undecoded, func(e *strict.Error) bool { return blockOf(e.Field) == block })
}

// blockOf is the block of the document that contains a field: an election, or a top-level key.
func blockOf(field string) string {
	block, _, _ := strings.Cut(field, ".")
	return block
}

// holds says whether outer is inner or contains it.
func holds(outer, inner string) bool {
	rest, within := strings.CutPrefix(inner, outer)
	return within && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Independent leaves out mistakes that only follow from others. Survey found the earlier ones; registries then found the
// later ones in its result. Independent returns the later ones that stand by themselves. A field with a mistake looks
// absent or has its default, so a comparison with it means nothing.
func Independent(earlier, later strict.Errors) (kept strict.Errors) {
	wrong := map[string]bool{}
	for _, e := range earlier {
		wrong[blockOf(e.Field)] = true
	}
	for _, e := range later {
		block := blockOf(e.Field)
		switch inElection := strings.TrimPrefix(e.Field, block+"."); {
		case slices.ContainsFunc(earlier, func(x *strict.Error) bool { return holds(x.Field, e.Field) || holds(e.Field, x.Field) }):
		case (wrong[block] || wrong["timing"]) && strings.HasSuffix(e.Field, ".stopGrace"): // compared with the election's
		case wrong[block] && !alone(inElection):
		default:
			kept = append(kept, e)
		}
	}
	return kept
}

// alone says whether a registry judges a field of an election without regard to other fields.
func alone(field string) bool {
	return strings.HasPrefix(field, "runners[") || strings.HasPrefix(field, "priority.") || field == "lock.kind" || field == "lock.migrateFrom.kind"
}

// given says whether the document, a flag or a variable sets the field.
func (r *resolver) given(field string) bool {
	_, written := strict.Lookup(r.cfg.root, field)
	return written || r.cfg.sources[field] != ""
}

func (r *resolver) line(field string) int {
	node, _ := strict.Lookup(r.cfg.root, field)
	return node.Line
}

func (r *resolver) resolve(doc *document) {
	c := r.cfg
	c.Group = doc.Group
	if r.given(fieldGroup) {
		r.name(fieldGroup, c.Group, dnsLabel)
	} else {
		r.fail(fieldGroup, "add group: <name>, or set --group or PRIMACY_GROUP", "is missing")
	}
	r.namespace(doc)
	r.member(doc.Member)
	if s := doc.DefaultRevision; s != nil {
		c.DefaultRevision = &Block{Kind: s.kind, Field: "defaultRevision." + s.kind, Node: s.node}
	}
	r.timing(doc.Timing)
	r.http(doc.HTTP)
	r.metrics(doc.Metrics)
	if r.process != nil {
		c.keep(r.process)
	}
	r.blame(c.Timing.Check(), c.Timing, []string{"timing"}, "timing")
	r.elections(doc.Elections)
}

func (r *resolver) namespace(doc *document) {
	if r.cfg.Namespace = doc.Namespace; r.given(fieldNamespace) {
		r.name(fieldNamespace, doc.Namespace, dnsLabel)
	}
}

func (r *resolver) member(doc memberDoc) {
	m := Member{Revision: record.DefaultRevision, Location: record.Local, Weight: doc.Weight}
	if r.given(fieldRevision) {
		m.Revision = doc.Revision
		r.name(fieldRevision, m.Revision, labelValue)
	}
	if r.given(fieldLocation) {
		location, err := record.ParseLocation(doc.Location)
		if err != nil {
			r.fail(fieldLocation, "", "%v", err)
		}
		m.Location = location
	}
	if m.Weight < 0 {
		r.fail("member.weight", "the default is 100", "%d must not be negative", m.Weight)
	}
	m.Proofs, m.RemoveSessions = r.proofs(doc.Proofs), doc.RemoveSessions
	r.cfg.Member = m
}

// proofKinds are the kinds of proof that a configuration may allow. A parent's proof is a flag of the process: --guard.
var proofKinds = []string{string(record.ProofCgroup), string(record.ProofOperator), string(record.ProofKubelet), string(record.ProofOutOfService)}

// proofs checks by which proofs others may end the session early.
func (r *resolver) proofs(doc []string) (all []record.Proof) {
	for i, word := range doc {
		field := fmt.Sprintf("member.proofs[%d]", i)
		problem, hint := notOneOf(word, proofKinds)
		switch {
		case word == string(record.ProofParent):
			r.fail(field, "leave it out; primacy run --guard=false goes without", "a parent's proof counts without being listed")
		case problem != "":
			r.fail(field, hint, "%s", problem)
		case slices.Contains(all, record.Proof(word)):
			r.fail(field, "leave one of the two out", "%q stands there twice", word)
		default:
			all = append(all, record.Proof(word))
		}
	}
	return all
}
