package config

import (
	"fmt"

	"github.com/primacy-dev/primacy/config/strict"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// resolver fills in what a document leaves out and checks what it says.
type resolver struct {
	cfg  *Configuration
	errs strict.Errors
	// process is what a running process has in force; nil where one is started.
	process *Configuration
}

func (r *resolver) fail(field, hint, problem string, args ...any) {
	r.errs = append(r.errs, r.cfg.errorAt(nil, field, fmt.Sprintf(problem, args...), hint))
}

// given says whether the document or a setting has the field.
func (r *resolver) given(field string) bool {
	_, written := strict.Lookup(r.cfg.root, field)
	return written || r.cfg.sources[field] != ""
}

func (r *resolver) line(field string) int {
	node, _ := strict.Lookup(r.cfg.root, field)
	return node.Line
}

func (r *resolver) resolve(doc *document) (*Configuration, error) {
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
	r.metrics(doc.Metrics)
	if r.process != nil {
		c.keep(r.process)
	}
	r.blame(impossible(c.Timing), c.Timing, []string{"timing"}, "timing")
	r.elections(doc.Elections)
	if err := r.errs.OrNil(); err != nil {
		return nil, err
	}
	return c, nil
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
	r.cfg.Member = m
}
