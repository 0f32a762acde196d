package endpoints

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
)

// memberDoc is the answer of /api/v1/elections.
type memberDoc struct {
	// Member is the identity of this member; empty before it joins.
	Member    string        `json:"member"`
	Elections []electionDoc `json:"elections"`
}

// electionDoc is one election, as this member knows it.
type electionDoc struct {
	Name string `json:"name"`
	// Role is this member's, and Since is when it got it.
	Role   string    `json:"role"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
	// Leading: this member's term is valid at this moment.
	Leading bool `json:"leading"`
	// Token and Cycle are those of this member's present or last term.
	Token uint64 `json:"token"`
	Cycle int    `json:"cycle"`
	// Leader is nil while nobody is known to lead.
	Leader      *leaderDoc `json:"leader"`
	LeaderSince time.Time  `json:"leaderSince"`
	// Ready: the runner could work in a term. Unready says why it could not.
	Ready   bool   `json:"ready"`
	Unready string `json:"unready,omitempty"`
}

type leaderDoc struct {
	Identity string `json:"identity"`
	Revision string `json:"revision,omitempty"`
	Location string `json:"location,omitempty"`
	Token    uint64 `json:"token"`
}

func leaderOf(l election.Leader) *leaderDoc {
	if l.Identity == "" {
		return nil
	}
	return &leaderDoc{l.Identity, l.Revision, string(l.Location), uint64(l.Token)}
}

func electionOf(s *election.Status) electionDoc {
	role, why, since := s.Role()
	doc := electionDoc{
		Name: s.Election(), Role: role.String(), Reason: string(why), Since: since.UTC(), Leading: s.IsLeader(),
		Token: uint64(s.Token()), Cycle: s.Cycle(), Leader: leaderOf(s.Leader()), LeaderSince: s.LeaderSince().UTC(), Ready: true,
	}
	if err := s.Unready(); err != nil {
		doc.Ready, doc.Unready = false, err.Error()
	}
	return doc
}

// elections answers with all elections of this member, by name.
func (s *Server) elections(w http.ResponseWriter, _ *http.Request) {
	all := s.cfg.Elections.Statuses()
	doc := memberDoc{Member: s.cfg.Elections.Identity(), Elections: make([]electionDoc, 0, len(all))}
	for _, one := range all {
		doc.Elections = append(doc.Elections, electionOf(one))
	}
	slices.SortFunc(doc.Elections, func(a, b electionDoc) int { return cmp.Compare(a.Name, b.Name) })
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(doc) // the client is gone
}

// transitionDoc is one event of /api/v1/events.
type transitionDoc struct {
	Number   uint64     `json:"number"`
	At       time.Time  `json:"at"`
	Member   string     `json:"member"`
	Election string     `json:"election"`
	Event    string     `json:"event"`
	Role     string     `json:"role"`
	Reason   string     `json:"reason,omitempty"`
	Token    uint64     `json:"token"`
	Cycle    int        `json:"cycle"`
	Leader   *leaderDoc `json:"leader"`
	// LeaderlessSeconds is how long nobody led before this member, as far as it saw that.
	LeaderlessSeconds float64 `json:"leaderlessSeconds,omitempty"`
}

func transitionOf(member string, t election.ElectionTransition) transitionDoc {
	return transitionDoc{
		Number: t.Number, At: t.At.UTC(), Member: member, Election: t.Election, Event: t.Event.String(), Role: t.Role.String(),
		Reason: string(t.Reason), Token: uint64(t.Token), Cycle: t.Cycle, Leader: leaderOf(t.Leader), LeaderlessSeconds: t.Leaderless.Seconds(),
	}
}
