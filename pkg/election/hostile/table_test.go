package hostile_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// update writes docs/hostile-records.md anew; do so on a quiet machine.
var update = flag.Bool("update", false, "write what is seen into docs/hostile-records.md")

const page = "../../../docs/hostile-records.md"

// table is a section of the page: what became of all acts of one situation.
type table struct {
	title string
	rows  []result
}

const columns = "| act | the term | told to stop after | led again after | overlap | reported |\n| --- | --- | --- | --- | --- | --- |\n"

// lines are the rows of the table. If an act had the same consequences on both kinds of object,
// they share a row.
func (tb table) lines() []string {
	var lines []string
	for i := 0; i < len(tb.rows); i++ {
		pair := tb.rows[i : i+1]
		if i+1 < len(tb.rows) && tb.rows[i+1].same(tb.rows[i]) {
			pair = tb.rows[i : i+2]
			i++
		}
		name := pair[0].name
		if len(pair) == 1 {
			name += " (" + pair[0].kind + ")"
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", name, pair[0].holder,
			both(pair, func(r result) string { return took(r.stopped) }), both(pair, func(r result) string { return took(r.led) }),
			both(pair, func(r result) string { return overlap(r.overlap) }), pair[0].reported))
	}
	return lines
}

// same says whether o is the same act, with the same fate of the term.
func (r result) same(o result) bool { return r.name == o.name && r.holder == o.holder }

// both shows a figure for each kind of object, or one figure if they are equal.
func both(pair []result, figure func(result) string) string {
	a, b := figure(pair[0]), figure(pair[len(pair)-1])
	if a == b {
		return a
	}
	return a + ", " + b
}

func took(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func overlap(d time.Duration) string { return cmp.Or(took(d), "0") }

// writing guards the page.
var writing sync.Mutex

// check compares the rows with those of docs/hostile-records.md, or with -update writes them there.
func (tb table) check(t *testing.T) {
	t.Helper()
	if t.Failed() {
		for _, l := range tb.lines() {
			t.Log(l)
		}
		return
	}
	writing.Lock()
	defer writing.Unlock()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(content), "## "+tb.title+"\n")
	if !found {
		t.Fatalf("%s has no section %q", page, tb.title)
	}
	before, old, _ := strings.Cut(rest, columns)
	end := strings.Index("\n"+old, "\n\n")
	if end < 0 {
		end = len(old)
	}
	if *update {
		text := head + "## " + tb.title + "\n" + before + columns + strings.Join(tb.lines(), "\n") + "\n" + old[end:]
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil { // #nosec G306 -- a page for everybody
			t.Fatal(err)
		}
		return
	}
	terms := termsOf(strings.Split(old[:end], "\n"))
	for _, r := range tb.rows {
		want, found := terms[r.name+" ("+r.kind+")"]
		switch {
		case !found:
			t.Errorf("%s: the page has no row for %s (%s): -update writes it", tb.title, r.name, r.kind)
		case want != r.holder && !r.slow:
			t.Errorf("%s: %s (%s): the term %s, but the page says: %s", tb.title, r.name, r.kind, r.holder, want)
		}
	}
	if only.String() == "" && oneIn == 1 && len(terms) != len(tb.rows) {
		t.Errorf("%s: the page has rows for %d acts, there are %d", tb.title, len(terms), len(tb.rows))
	}
}

// termsOf reads from the rows of a page, for each act and kind, what became of the term.
func termsOf(lines []string) map[string]string {
	terms := map[string]string{}
	for _, l := range lines {
		fields := strings.Split(l, " | ")
		if len(fields) < 3 {
			continue
		}
		name := strings.TrimPrefix(fields[0], "| ")
		for _, k := range []kind{inLease, inConfigMap} {
			if kindOf := " (" + string(k) + ")"; strings.HasSuffix(name, kindOf) {
				terms[name] = fields[1]
				name = ""
			}
		}
		if name != "" {
			terms[name+" ("+string(inLease)+")"] = fields[1]
			terms[name+" ("+string(inConfigMap)+")"] = fields[1]
		}
	}
	return terms
}
