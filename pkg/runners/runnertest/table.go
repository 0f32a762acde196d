//go:build linux

package runnertest

import (
	"fmt"
	"strings"
)

// table is the suite's report on one kind of runner: one row for each test case, with its result.
type table struct {
	kind string
	rows []string
}

func (t *table) add(name, result string) {
	t.rows = append(t.rows, fmt.Sprintf("| %s | %s |", name, result))
}

// passed is how the table shows a result.
func passed(ok bool) string {
	if ok {
		return "yes"
	}
	return "NO"
}

func (t *table) String() string {
	return fmt.Sprintf("the suite:\n\n| case | %s |\n| --- | --- |\n%s\n", t.kind, strings.Join(t.rows, "\n"))
}
