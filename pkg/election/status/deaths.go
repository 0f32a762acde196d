package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Death is the end of a session before it had lapsed, since somebody knew that its member was dead. A session tells of
// the last few deaths in its slot.
type Death struct {
	Identity string `json:"identity"`
	Group    string `json:"group,omitempty"`
	Session  string `json:"session"`
	// Proof is the kind of proof. By names the one that ended the session, and How says how the member died.
	Proof record.Proof `json:"proof"`
	By    string       `json:"by"`
	How   string       `json:"how"`
	// At is when the member was found dead, by the clock of By.
	At time.Time `json:"at,omitzero"`
}

// deaths are those that a session tells of.
func deaths(e lock.Entry) (all []Death) {
	for _, d := range session.Proven(e.Record, e.Version.UID) {
		all = append(all, Death{clean(d.Identity), clean(e.Record.Group), clean(e.Name), record.Proof(clean(string(d.Proof))), cleanText(d.By), cleanText(d.How), d.At})
	}
	return all
}

// diedAt is when a member was proved dead, as a session tells; zero if it tells of no such death.
func diedAt(identity string, e lock.Entry) (at time.Time) {
	for _, d := range session.Proven(e.Record, e.Version.UID) {
		if d.Identity == identity {
			at = d.At
		}
	}
	return at
}

// sortDeaths puts the latest first.
func sortDeaths(all []Death) {
	slices.SortFunc(all, func(a, b Death) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Identity, b.Identity))
	})
}

var deathColumns = []string{"DIED", "AGO", "PROOF", "BY", "HOW"}

func (d Death) cells(now time.Time) []string {
	return []string{d.Identity, since(d.At, now), string(d.Proof), d.By, d.How}
}
