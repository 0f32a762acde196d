package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// digestOf is a digest of runners. Comments, line numbers and quotes do not change it.
func digestOf(runners []Runner) string {
	h := sha256.New()
	for _, r := range runners {
		fmt.Fprintf(h, " %q %q %q", r.Name, r.Mode, r.OnExit)
		r.writeTo(h)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// digest is a digest of a block like digestOf; empty for no block.
func (b *Block) digest() string {
	if b == nil {
		return ""
	}
	h := sha256.New()
	b.writeTo(h)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (b *Block) writeTo(w io.Writer) {
	fmt.Fprintf(w, " %q", b.Kind)
	write(w, b.Node)
}

func write(w io.Writer, node *yaml.Node) {
	fmt.Fprintf(w, " %d %q %q [", node.Kind, node.Tag, node.Value)
	for _, child := range node.Content {
		write(w, child)
	}
	_, _ = io.WriteString(w, "]") // a hash never fails to write
}

// quoted is a list as one text.
func quoted(list []string) string { return fmt.Sprintf("%q", list) }
