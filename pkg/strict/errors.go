package strict

import (
	"errors"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Error is one mistake and its place.
type Error struct {
	// File is where the document comes from; it may be empty.
	File string
	// Line and Column count from 1; zero where there is no place to show.
	Line, Column int
	// Field is the path of the field, such as elections[2].lock.kind; empty for the
	// document itself.
	Field string
	// Problem is what is wrong.
	Problem string
	// Hint is what to do about it; it may be empty.
	Hint string
}

// NewError makes an error at the node, which may be nil.
func NewError(node *yaml.Node, field, problem, hint string) *Error {
	e := &Error{Field: field, Problem: problem, Hint: hint}
	if node != nil {
		e.Line, e.Column = node.Line, node.Column
	}
	return e
}

// Error returns file:line:column: field: problem (hint), without the parts that are unknown.
func (e *Error) Error() string {
	var b strings.Builder
	place := e.File
	if e.Line > 0 {
		if place != "" {
			place += ":"
		}
		place += strconv.Itoa(e.Line)
		if e.Column > 0 {
			place += ":" + strconv.Itoa(e.Column)
		}
	}
	for _, part := range []string{place, e.Field} {
		if part != "" {
			b.WriteString(part)
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Errors are all mistakes of one document.
type Errors []*Error

// Error returns one line per mistake.
func (errs Errors) Error() string {
	lines := make([]string, len(errs))
	for i, e := range errs {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As look at each mistake.
func (errs Errors) Unwrap() []error {
	all := make([]error, len(errs))
	for i, e := range errs {
		all[i] = e
	}
	return all
}

// OrNil returns the errors sorted by place, or nil if there are none.
func (errs Errors) OrNil() error {
	if len(errs) == 0 {
		return nil
	}
	sort.SliceStable(errs, func(i, j int) bool {
		a, b := errs[i], errs[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	return errs
}

// Rebase turns an error about a block of a document into an error about the document: it names the
// file and puts the block's path before the fields. An error without a place gets the block's place.
func Rebase(err error, file, path string, block *yaml.Node) error {
	if err == nil {
		return nil
	}
	return rebase(err, file, path, block).OrNil()
}

func rebase(err error, file, path string, block *yaml.Node) Errors {
	var errs Errors
	var one *Error
	switch {
	case errors.As(err, &errs):
	case errors.As(err, &one):
		errs = Errors{one}
	default:
		errs = Errors{NewError(block, "", err.Error(), "")}
	}
	moved := make(Errors, len(errs))
	for i, e := range errs {
		c := *e
		c.File, c.Field = file, Join(path, e.Field)
		if c.Line == 0 && block != nil {
			c.Line, c.Column = block.Line, block.Column
		}
		moved[i] = &c
	}
	return moved
}

// Join puts a path before a field's name.
func Join(path, field string) string {
	if path == "" || field == "" || strings.HasPrefix(field, "[") {
		return path + field
	}
	return path + "." + field
}
