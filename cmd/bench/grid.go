package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// grid is a table: the first column is text, all others are figures.
type grid struct {
	title  string
	header []string
	rows   [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// text writes the table for a terminal.
func (g *grid) text(to io.Writer) error {
	fmt.Fprintf(to, "\n%s\n", g.title)
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	for _, row := range append([][]string{g.header}, g.rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

// markdown is the table as Markdown.
func (g *grid) markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	fmt.Fprintf(&b, "%s\n\n", g.title)
	line(g.header)
	line(strings.Split(strings.Repeat("---|", len(g.header)-1)+"---", "|"))
	for _, row := range g.rows {
		line(row)
	}
	return b.String()
}

// The marks around the table in a page.
const (
	tableBegins = "<!-- what follows is written by: make bench-docs -->\n"
	tableEnds   = "<!-- until here -->\n"
)

// writeInto replaces the part of the page between the marks with the tables.
func (r *result) writeInto(page string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	before, rest, begins := strings.Cut(string(data), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("page %s: has no place for the table (put the lines %q and %q where it belongs)", page, tableBegins, tableEnds)
	}
	var b strings.Builder
	b.WriteString(before + tableBegins + "\n" + r.preamble() + "\n")
	for _, g := range r.grids() {
		b.WriteString(g.markdown() + "\n")
	}
	b.WriteString(tableEnds + after)
	if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// print shows everything as text.
func (r *result) print(to io.Writer) error {
	fmt.Fprintln(to, "\n"+strings.TrimSpace(r.preamble()))
	for _, g := range r.grids() {
		if err := g.text(to); err != nil {
			return err
		}
	}
	fmt.Fprintf(to, "\nterms %d, overlaps %d, falling tokens %d, takeovers before the validity ended %d\n", r.All.Terms, r.All.Overlaps, r.All.Falling, r.Early)
	return nil
}

// preamble says when and on which machine we measured.
func (r *result) preamble() string {
	s := fmt.Sprintf("%s, %s run of %v on %d cores, which the API server and all members share; profile %s, fsync %v; load before %s, after %s.\n",
		r.Began.Format("2006-01-02"), r.Size, r.Took, r.Cores, r.Profile, r.Fsync, load(r.LoadBefore), load(r.LoadAfter))
	for _, f := range r.Failed {
		s += "Not measured: " + strings.TrimSpace(firstLine(f)) + "\n"
	}
	return s
}

// load is the load average over the last minute.
func load(avg string) string { f, _, _ := strings.Cut(avg, " "); return f }

func firstLine(s string) string { l, _, _ := strings.Cut(s, "\n"); return l }
