package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// tally compares the announcements of commands with what then happens, row by row. With PREVIEWS=FOLDER it
// writes the rows there, in a file named for the test.
type tally struct {
	t    *testing.T
	rows []string
	// differences are the rows in which announcement and outcome differ.
	differences []string
}

// row adds a row: what the command said about the election, and what was done.
func (y *tally) row(election, command, said, done string) {
	verdict := "as said"
	if said != done {
		verdict = "DIFFERS: " + done
		y.differences = append(y.differences, fmt.Sprintf("%s, %s: said %s; %s", command, election, said, done))
	}
	y.rows = append(y.rows, fmt.Sprintf("| %s | %s | %s | %s |", election, command, said, verdict))
}

// close fails the test for each difference.
func (y *tally) close() {
	y.t.Helper()
	for _, d := range y.differences {
		y.t.Error(d)
	}
	y.t.Logf("%d previews were compared, %d differ", len(y.rows), len(y.differences))
	if folder := os.Getenv("PREVIEWS"); folder != "" {
		text := "| election | command | said | done |\n| --- | --- | --- | --- |\n" + strings.Join(y.rows, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(folder, y.t.Name()+".md"), []byte(text), 0o600); err != nil {
			y.t.Error(err)
		}
	}
}

// fate is what a command announces for an election's leadership.
type fate struct {
	// candidates are the members of which one will lead; nil if the holder stays.
	candidates []string
	// notBefore is when leadership moves at the earliest; zero for at once.
	notBefore time.Time
}

// fates are the announced movements, by election. An election without one stays.
func fates(said []movement) map[string]fate {
	all := map[string]fate{}
	for _, m := range said {
		if !m.Stays {
			all[m.Election] = fate{m.Candidates, m.NotBefore}
		}
	}
	return all
}

// promptly is the most time that a move without a delay may take.
const promptly = 3 * time.Second

// moves compares what the command announced at the given time with the reports before and now.
func (y *tally) moves(command string, at time.Time, before, now status.Report, said map[string]fate) {
	y.t.Helper()
	for _, e := range before.Elections {
		f := said[e.Name]
		words := "stays"
		if f.candidates != nil {
			words = "moves to " + hosts(f.candidates)
			if !f.notBefore.IsZero() {
				words += fmt.Sprintf(", not before %v", f.notBefore.Sub(at).Round(time.Second))
			}
		}
		y.row(e.Name, command, words, happened(words, at, e, now, f))
	}
}

// happened returns the announcement words if it came true, else what happened instead.
func happened(words string, at time.Time, before status.Election, now status.Report, f fate) string {
	i := slices.IndexFunc(now.Elections, func(e status.Election) bool { return e.Name == before.Name })
	if i < 0 {
		return "it is gone"
	}
	after := now.Elections[i]
	late := f.notBefore
	if late.IsZero() {
		late = at
	}
	switch {
	case after.State != status.Led:
		return fmt.Sprintf("it is %s", after.State)
	case f.candidates == nil && (after.Holder != before.Holder || after.Token != before.Token):
		return fmt.Sprintf("it went from %s to %s", before.Holder, after.Holder)
	case f.candidates != nil && !slices.Contains(f.candidates, after.Holder):
		return fmt.Sprintf("it is led by %s, as %s did before", after.Holder, before.Holder)
	case f.candidates != nil && (after.Acquired.Before(late.Truncate(time.Second)) || after.Acquired.After(late.Add(promptly))):
		return fmt.Sprintf("it moved after %v", after.Acquired.Sub(at))
	}
	return words
}

// hosts are the host names in identities.
func hosts(identities []string) string {
	var names []string
	for _, identity := range identities {
		host, _, _ := strings.Cut(identity, "_")
		names = append(names, host)
	}
	return strings.Join(names, " or ")
}
