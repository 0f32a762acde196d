package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

func newEvents() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "events [ELECTION...]",
		Short: "List the last transitions of all elections, and go on with new ones",
		Long: `List the transitions that the locks of a namespace store, and the members that left or died, the
latest last; with -w go on, and show each one as it is written. It reads the API and nothing else, and needs
list and watch on leases, and on configmaps where locks are ConfigMaps. With the names of elections it
shows only their transitions.

These are not Kubernetes Events, of which members write only some, and which the API server forgets after
an hour: kubectl events --for lease/NAME shows those. A lock keeps its last 8 transitions, and with -w none is
missed unless more come while the watch is cut; a note says so then.

With -w, -o json writes each one on a line of its own, and -o yaml as a document of its own.

Exit status: 0, also when -w is interrupted; 1 if the API or a named election cannot be read; 2 for a mistake
in the command line.`,
		Example: `  primacy events
  primacy events -w -o json | jq 'select(.event == "Died")'`,
	}
	addSettings(c.Flags(), groupSettings...)
	format := addOutput(c.Flags())
	c.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and show what changes")
	c.RunE = func(c *cobra.Command, names []string) error {
		p, err := config.LoadProcess(c.Flags())
		if err != nil {
			return hintMissing(err, "--config and PRIMACY_CONFIG")
		}
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		s := statusCommand{out: c.OutOrStdout(), notes: c.ErrOrStderr()}
		if err := s.connect(ctx, p); err != nil {
			return err
		}
		s.selection.Elections = names
		if watch {
			return inTurn(ctx, s.notes, s.follow, s.appendPast(*format))
		}
		return s.showPast(ctx, *format)
	}
	return c
}

// showPast writes what is stored now.
func (s *statusCommand) showPast(ctx context.Context, format output) error {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(ctx, s.realm, s.selection)
	if err != nil {
		return s.failed(err)
	}
	if err := s.noteNotes(report); err != nil {
		return err
	}
	if absent := s.absent(report); len(absent) > 0 {
		return s.noSuch(absent)
	}
	all := new(pastSeen).since(s.selection, report)
	if len(all) == 0 {
		if format == outputText {
			_, err := fmt.Fprintf(s.notes, "nothing has happened yet in namespace %s (--namespace chooses another)\n", s.namespace)
			return err
		}
		all = []pastEvent{}
	}
	return format.write(s.out, pastTable(all), all)
}

// noSuch is the error for elections that do not exist.
func (s *statusCommand) noSuch(absent []string) error {
	return fmt.Errorf("there is no election %s in namespace %s (primacy status lists them)", strings.Join(absent, ", "), s.namespace)
}

// appendPast writes what is stored, and then what is new.
func (s *statusCommand) appendPast(format output) func(status.Report) error {
	var known pastSeen
	var table status.Aligner
	var noted []string
	begun, headed := false, false
	return func(r status.Report) error {
		if absent := s.absent(r); !begun && len(absent) > 0 {
			return s.noSuch(absent)
		}
		if !slices.Equal(r.Notes, noted) {
			noted = r.Notes
			if err := s.noteNotes(r); err != nil {
				return err
			}
		}
		news := known.since(s.selection, r)
		for _, election := range known.missed {
			if _, err := fmt.Fprintf(s.notes, "note: election %s changed so often that some transitions are not shown\n", election); err != nil {
				return err
			}
		}
		begun = true
		var rows [][]string
		if !headed && format == outputText && len(news) > 0 { // not before there are rows: they show how wide columns are
			headed = true
			rows = append(rows, pastColumns)
		}
		for _, h := range news {
			switch format {
			case outputJSON:
				if err := json.NewEncoder(s.out).Encode(h); err != nil {
					return err
				}
			case outputYAML:
				text, err := yaml.Marshal(h)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(s.out, "---\n%s", text); err != nil {
					return err
				}
			default:
				rows = append(rows, h.cells())
			}
		}
		if len(rows) == 0 {
			return nil
		}
		_, err := io.WriteString(s.out, table.Lines(rows))
		return err
	}
}

// pastSeen knows what reports have shown. The zero pastSeen has seen none. Only one goroutine may use it.
type pastSeen struct {
	histories map[string][]status.Transition
	members   map[string]bool
	// missed are elections of which the last report shows that some transitions were never seen.
	missed []string
}

// since returns what a report shows and the ones before did not, oldest first.
func (k *pastSeen) since(s status.Selection, r status.Report) (news []pastEvent) {
	if k.members == nil {
		k.members = map[string]bool{}
	}
	k.missed = nil
	known := k.histories
	k.histories = make(map[string][]status.Transition, len(r.Elections)) // without the locks that are gone: one made anew begins anew
	for _, e := range r.Elections {
		key := e.Group + "/" + e.Ref().String()
		before := known[key]
		fresh := after(before, e.History)
		if len(before) > 0 && len(e.History) > 0 && len(fresh) == len(e.History) {
			k.missed = append(k.missed, e.Name)
		}
		k.histories[key] = e.History
		all := ofElection(e, r.Deaths)
		news = append(news, all[len(all)-len(fresh):]...)
	}
	for _, h := range ofMembers(r) {
		if key := string(h.Event) + " " + h.Who; len(s.Elections) == 0 && !k.members[key] {
			k.members[key] = true
			news = append(news, h)
		}
	}
	return inOrder(news)
}

// after is what follows the known lines in a history, of which the first may be gone.
func after(known, history []status.Transition) []status.Transition {
	for from := range known {
		if n := len(known) - from; n <= len(history) && slices.EqualFunc(known[from:], history[:n], status.Transition.Equal) {
			return history[n:]
		}
	}
	return history
}
