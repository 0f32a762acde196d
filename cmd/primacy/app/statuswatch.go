package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// watch shows what there is and then what changes, until ctx ends: a terminal is redrawn,
// anything else gets the rows, or the documents, that are new.
func (s *statusCommand) watch(ctx context.Context) error {
	if s.format == status.Table && isTerminal(s.out) {
		return s.watchScreen(ctx)
	}
	show := s.appendChanges()
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

// watchScreen keeps a terminal showing the present, and leaves the last report on it.
func (s *statusCommand) watchScreen(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now := liveStatus{namespace: s.namespace}
	err := view.During(ctx, view.Show{
		In: keyboard(), Out: s.out, Name: "primacy status", Press: endingKeys(cancel),
		Page: func(int, int) view.Page { return now.page() },
	}, func(ctx context.Context, screen *view.Screen) error {
		return status.Follow(ctx, s.locks, s.selection, func(r status.Report, trouble error) {
			screen.Do(func() { now.take(r, trouble, time.Now()) })
		})
	})
	if err != nil || now.report.Empty() {
		return err
	}
	return now.report.Write(s.out, s.format)
}

// liveStatus is what the screen of `primacy status -w` shows. It belongs to the screen's
// goroutine until that has ended.
type liveStatus struct {
	namespace string
	report    status.Report
	news      view.News
	log       view.Log
}

func (l *liveStatus) take(r status.Report, trouble error, now time.Time) {
	if trouble != nil {
		l.log.Add(now, "the watch was cut, and is taken up again: "+view.Printable(trouble.Error()))
		return
	}
	l.report = r
	l.log.Add(now, l.news.Since(r)...)
}

func (l *liveStatus) page() view.Page {
	if l.report.At.IsZero() {
		return view.Page{Title: "the API server is asked"}
	}
	return view.Page{
		Title:  view.Title("primacy status", l.report, "namespace "+l.namespace),
		Parts:  []view.Part{{Lines: view.Elections(l.report), Least: 3}, {Lines: view.Members(l.report), Least: 3}},
		Events: l.log.Lines(), Foot: []string{view.Key("q", "quit")},
	}
}

// keyboard is where keys come from, if a person sits there; else nil.
func keyboard() io.Reader {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return os.Stdin
	}
	return nil
}

// endingKeys are the keys that end a live view.
func endingKeys(end func()) func(key string) {
	return func(key string) {
		if key == "q" || key == "ctrl+c" {
			end()
		}
	}
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
