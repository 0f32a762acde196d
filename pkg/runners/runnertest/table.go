package runnertest

import (
	"fmt"
	"strings"
)

// table is what a kind was asked, and how it answered.
type table struct {
	kind string
	rows []string
}

func (t *table) add(name, result string) {
	t.rows = append(t.rows, fmt.Sprintf("| %s | %s |", name, result))
}

func (t *table) result(name string, ok bool) {
	t.add(name, map[bool]string{true: "yes", false: "NO"}[ok])
}

func (t *table) String() string {
	return fmt.Sprintf("the suite:\n\n| case | %s |\n| --- | --- |\n%s\n", t.kind, strings.Join(t.rows, "\n"))
}
