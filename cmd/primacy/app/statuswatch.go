package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// watch shows the present state and then changes, until ctx ends. It redraws a terminal;
// any other output gets new rows, or new documents.
func (s *statusCommand) watch(ctx context.Context) error {
	if s.format != status.Table || !isTerminal(s.out) {
		if err := s.noteDisabled(); err != nil {
			return err
		}
		return inTurn(ctx, s.notes, s.followSteered, s.appendChanges())
	}
	now := liveStatus(s.namespace)
	if err := now.onScreen(ctx, s.out, "primacy status", s.followSteered); err != nil || now.state.Empty() {
		return err
	}
	return now.state.Write(s.out, s.format)
}

func (s *statusCommand) follow(ctx context.Context, deliver func(status.Report, error)) error {
	return status.Follow(ctx, s.realm, s.selection, deliver)
}

// steeredAge is how old notes on what operators said may be while a status is watched, and steeredPatience how long
// reading them may hold it up.
const (
	steeredAge      = 5 * time.Second
	steeredPatience = 2 * time.Second
)

// followSteered is follow with notes on what operators said.
func (s *statusCommand) followSteered(ctx context.Context, deliver func(status.Report, error)) error {
	var steered steeredGroups
	var read time.Time
	return s.follow(ctx, func(r status.Report, trouble error) {
		if trouble == nil && time.Since(read) >= steeredAge {
			reading, cancel := context.WithTimeout(ctx, steeredPatience)
			steered = s.steered(reading, r)
			cancel()
			read = time.Now()
		}
		steered.tell(&r)
		deliver(r, trouble)
	})
}

// liveStatus makes the screen of `primacy status -w`.
func liveStatus(namespace string) *live[status.Report] {
	news := new(view.News)
	return &live[status.Report]{since: news.Since, page: func(r status.Report, log []string) view.Page {
		return view.Page{
			Title:  view.Title("primacy status", r, "namespace "+namespace),
			Parts:  []view.Part{{Lines: view.Elections(r), Least: 3}, {Lines: view.Members(r), Least: 3}, {Lines: append(view.OldBy(r.AsOf, r.At), r.Notes...)}},
			Events: log, Foot: []string{view.Key("q", "quit")},
		}
	}}
}

// appendChanges writes the first report, and then only what is new. Lines of a table have the time,
// and name members that came or went.
func (s *statusCommand) appendChanges() func(status.Report) error {
	var changes status.Changes
	var members view.News
	var table status.Aligner
	var head []string
	var noted []string
	var old time.Time
	return func(r status.Report) error {
		if text := view.TurnedOld(old, r.AsOf, r.At); text != "" {
			if _, err := fmt.Fprintln(s.notes, text); err != nil {
				return err
			}
		}
		old = r.AsOf
		if !slices.Equal(r.Notes, noted) {
			noted = r.Notes
			if err := s.noteNotes(r); err != nil {
				return err
			}
		}
		news, comeAndGo := changes.Since(r), members.OfMembers(r)
		if news.Empty() && (s.format != status.Table || len(comeAndGo) == 0) {
			return nil
		}
		switch s.format {
		case status.JSON: // one line for each, for tools that read streams
			return json.NewEncoder(s.out).Encode(news)
		case status.YAML:
			if _, err := fmt.Fprintln(s.out, "---"); err != nil {
				return err
			}
			return news.Write(s.out, status.YAML)
		case status.Names:
			return news.Write(s.out, status.Names)
		}
		at := r.At.Local().Format(time.TimeOnly)
		rows, _ := news.Rows()
		for i := range rows {
			rows[i] = append([]string{at}, rows[i]...)
		}
		rows[0][0] = "TIME"
		if slices.Equal(rows[0], head) || len(news.Elections) == 0 {
			rows = rows[1:]
		} else {
			head = slices.Clone(rows[0])
		}
		text := table.Lines(rows)
		for _, line := range comeAndGo {
			text += at + "  " + line + "\n"
		}
		_, err := io.WriteString(s.out, text)
		return err
	}
}
