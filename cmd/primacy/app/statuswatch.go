package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// watch shows what there is and then what changes, until ctx ends: a terminal is redrawn,
// anything else gets the rows, or the documents, that are new.
func (s *statusCommand) watch(ctx context.Context) error {
	show := s.appendChanges()
	if s.format == status.Table && isTerminal(s.out) {
		show = s.redraw
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	err := status.Follow(ctx, s.locks, s.selection, func(r status.Report, trouble error) {
		switch {
		case failed != nil:
		case trouble != nil:
			fmt.Fprintf(s.notes, "the watch was cut, and is taken up again: %v\n", trouble)
		default:
			if failed = show(r); failed != nil { // nobody reads on
				cancel()
			}
		}
	})
	return errors.Join(err, failed)
}

// redraw writes the report over the last one, as much of it as the terminal has room for.
func (s *statusCommand) redraw(r status.Report) error {
	const home, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	var page strings.Builder
	fmt.Fprintf(&page, "%s  namespace %s\n", r.At.Local().Format("15:04:05"), s.namespace)
	if err := r.Write(&page, s.format); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(page.String(), "\n"), "\n")
	if width, height, err := terminalSize(s.out); err == nil {
		lines = fit(lines, width, height)
	}
	_, err := fmt.Fprint(s.out, home+strings.Join(lines, clearLine+"\n")+clearLine+clearBelow)
	return err
}

// fit leaves out what a terminal of that size has no room for, and says so.
func fit(lines []string, width, height int) []string {
	if more := len(lines) - height; more > 0 && height > 0 {
		lines = append(lines[:height-1:height-1], fmt.Sprintf("... %d more lines", more+1))
	}
	for i, l := range lines {
		if r := []rune(l); len(r) > width && width > 0 {
			lines[i] = string(r[:width])
		}
	}
	return lines
}

// appendChanges writes, after the first report, only what is new in each.
func (s *statusCommand) appendChanges() func(status.Report) error {
	var changes status.Changes
	var table status.Aligner
	headed := false
	return func(r status.Report) error {
		news := changes.Since(r)
		if news.Empty() {
			return nil
		}
		switch s.format {
		case status.JSON: // one line for each, as tools that read streams want it
			return json.NewEncoder(s.out).Encode(news)
		case status.YAML:
			if _, err := fmt.Fprintln(s.out, "---"); err != nil {
				return err
			}
			return news.Write(s.out, status.YAML)
		case status.Names:
			return news.Write(s.out, status.Names)
		}
		rows, _ := news.Rows()
		if headed {
			rows = rows[1:]
		}
		headed = true
		_, err := fmt.Fprint(s.out, table.Lines(rows))
		return err
	}
}
