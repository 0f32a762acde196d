package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Digest changes when the election does, but not with comments, places or quotes.
func (e Election) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %v", e.Name, e.Lock.digest(), e.Policy, e.Bootstrap, e.Timing)
	if e.Chain != nil {
		fmt.Fprintf(h, " chain %q", e.Chain)
	}
	if e.Range || e.Outage == OutageFailopen {
		fmt.Fprintf(h, " %v %q %v", e.Range, e.Outage, e.FailopenFor)
	}
	if e.Disabled {
		fmt.Fprint(h, " disabled")
	}
	for _, r := range e.Runners {
		fmt.Fprintf(h, " %q", r.Name)
		if r.Mode != "" {
			fmt.Fprintf(h, " mode %q", r.Mode)
		}
		if r.OnExit != "" {
			fmt.Fprintf(h, " onExit %q", r.OnExit)
		}
		r.Block.digest(h)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (l Lock) digest() string {
	text := fmt.Sprintf("%q %q %q %q %v", l.Kind, l.Name, l.Renewal, l.SharedWith, l.Foreign)
	if l.MigrateFrom != nil {
		text += fmt.Sprintf(" %q", *l.MigrateFrom)
	}
	return text
}

// Digest is to a block what Election.Digest is to an election; empty for no block.
func (b *Block) Digest() string {
	if b == nil {
		return ""
	}
	h := sha256.New()
	b.digest(h)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (b *Block) digest(w io.Writer) {
	fmt.Fprintf(w, " %q", b.Kind)
	digest(w, b.Node)
}

func digest(w io.Writer, node *yaml.Node) {
	fmt.Fprintf(w, " %d %q %q [", node.Kind, node.Tag, node.Value)
	for _, child := range node.Content {
		digest(w, child)
	}
	_, _ = io.WriteString(w, "]") // a hash never fails to write
}
