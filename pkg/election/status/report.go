package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// Report is who leads what at one moment. The names of its fields in JSON and YAML are
// stable: fields are added, never renamed.
type Report struct {
	// At is the wall-clock time of the look.
	At        time.Time  `json:"at"`
	Elections []Election `json:"elections"`
	Members   []Member   `json:"members"`

	// severalGroups makes tables say which.
	severalGroups bool
}

// Election is what is seen of one election.
type Election struct {
	Name  string `json:"name"`
	Group string `json:"group,omitempty"`
	// Lock is the name of the lock object.
	Lock  string `json:"lock"`
	State State  `json:"state"`
	// Reason says why the state is not a good one.
	Reason string `json:"reason,omitempty"`
	// Stale says that the lock is held but looks expired; see the package.
	Stale bool `json:"stale,omitempty"`
	// Holder, Revision and Location are empty while nobody holds the lock.
	Holder   string `json:"holder,omitempty"`
	Revision string `json:"revision,omitempty"`
	Location string `json:"location,omitempty"`
	// Token is that of the present or last term; zero before the first.
	Token uint64 `json:"token,omitempty"`
	// Acquired is when the state began: the lock was taken, or released.
	Acquired time.Time `json:"acquired,omitzero"`
	Renewed  time.Time `json:"renewed,omitzero"`
	// Transitions counts how often the holder changed to a new one.
	Transitions int `json:"transitions"`
	// HandoverTo is the member that a released lock is left to.
	HandoverTo string `json:"handoverTo,omitempty"`
}

// Member is what is seen of one member.
type Member struct {
	Identity string      `json:"identity"`
	Group    string      `json:"group,omitempty"`
	Revision string      `json:"revision,omitempty"`
	Location string      `json:"location,omitempty"`
	Weight   int         `json:"weight,omitempty"`
	Ready    bool        `json:"ready"`
	State    MemberState `json:"state"`
	// Reason says why the session cannot be read.
	Reason string `json:"reason,omitempty"`
	// Preference is the revision that the member sees as preferred.
	Preference string `json:"preference,omitempty"`
	// Standing lists elections in which its runners failed lately or are not ready.
	Standing []string `json:"standing,omitempty"`
	// Fallen counts earlier sessions of its Pod or host that it did not end itself.
	Fallen int `json:"fallen,omitempty"`
	// Leads counts the elections that it holds.
	Leads int `json:"leads"`
	// Session is the name of the session object.
	Session string    `json:"session"`
	Renewed time.Time `json:"renewed,omitzero"`
	// Duration is how long the session lasts without a renewal; zero where nobody can tell.
	Duration time.Duration `json:"-"`
}

// Selection says what to report. The zero Selection is everything that is Primacy's.
type Selection struct {
	// Group leaves other groups out; empty means all.
	Group string
	// Expected are elections that are reported even where they have no lock yet.
	Expected []Expected
	// Without are locks that nobody should hold, since their elections are disabled: they are
	// reported only where somebody does.
	Without []string
}

// Expected is an election and the name of its lock.
type Expected struct {
	Election, Lock string
}

// Of reports what a list of all there is shows, by the wall-clock time now.
func Of(s Selection, entries []lock.Entry, now time.Time) Report {
	r := Report{At: now.UTC(), Elections: []Election{}, Members: []Member{}}
	expected := make(map[string]string, len(s.Expected))
	for _, e := range s.Expected {
		expected[e.Lock] = e.Election
	}
	sessions := map[string]lock.Entry{}
	var locks []lock.Entry
	for _, e := range entries {
		if e.Absent() {
			continue
		}
		_, wanted := expected[e.Name]
		switch {
		case !wanted && isSession(e, s.Group):
			sessions[e.Name] = e
			if s.picks(e.Record) {
				r.Members = append(r.Members, member(e, expired(e.Record, now)))
			}
		case slices.Contains(s.Without, e.Name) && e.Record.Holder == "":
		case wanted || e.Record.Group != "" && s.picks(e.Record):
			locks = append(locks, e)
		}
	}
	for _, e := range locks {
		found := electionOf(e, expected[e.Name], sessions, now)
		found.Group = cmp.Or(found.Group, s.Group)
		r.Elections = append(r.Elections, found)
		delete(expected, e.Name)
	}
	for lockName, election := range expected {
		r.Elections = append(r.Elections, Election{
			Name: election, Group: s.Group, Lock: lockName, State: Absent, Reason: "no member has created it yet",
		})
	}
	r.sort()
	return r
}

func (s Selection) picks(r *record.Record) bool { return s.Group == "" || r.Group == s.Group }

// isSession says whether an object is a session, also where it is broken.
func isSession(e lock.Entry, group string) bool {
	if e.Record.IsSession() {
		return true
	}
	of := cmp.Or(e.Record.Group, group)
	return of != "" && strings.HasPrefix(e.Name, session.Prefix(of))
}

// expired says whether the record was not renewed for as long as it says that it lasts,
// as far as the wall clocks of its writer and of whoever looks agree.
func expired(r *record.Record, now time.Time) bool {
	duration := r.Duration
	if r.Bound() {
		duration = r.Mark.Duration
	}
	return now.After(r.Renewed.Add(duration))
}

func electionOf(e lock.Entry, name string, sessions map[string]lock.Entry, now time.Time) Election {
	r := e.Record
	out := Election{
		Name: clean(cmp.Or(name, r.Election, e.Name)), Group: clean(r.Group), Lock: clean(e.Name),
		Acquired: r.Acquired, Renewed: r.Renewed, Transitions: r.Transitions,
	}
	out.State, out.Reason = stateOf(r)
	out.Reason = cleanText(out.Reason)
	switch out.State {
	case Led, Claiming:
		out.Stale = expired(r, now)
		if r.ThroughSession() {
			out.throughSession(r, sessions[r.Mark.Session], now)
		}
		out.Revision, out.Location = clean(r.Mark.Key.Revision()), string(r.Mark.Key.Location())
		fallthrough
	case Unowned, Corrupt:
		out.Holder, out.Token = clean(r.Holder), uint64(r.Token)
	case Foreign:
		out.Holder, out.Stale = clean(r.Holder), expired(r, now)
	case Released:
		out.Token, out.HandoverTo = uint64(r.Token), clean(r.HandoverTo)
	}
	return out
}

// throughSession says what the holder's session makes of an election that it renews. The
// record itself was written when the term began.
func (e *Election) throughSession(r *record.Record, session lock.Entry, now time.Time) {
	s := session.Record
	if s == nil || session.Version.UID != r.Mark.SessionUID {
		e.State, e.Stale, e.Reason = Unowned, false, "the session of its holder is unknown; it is waited out"
		return
	}
	e.Renewed, e.Stale = s.Renewed, expired(s, now)
	switch {
	case s.Released(), s.Bound() && s.Holder != r.Holder:
		e.State, e.Stale, e.Reason = Released, false, "the session of its holder has ended"
	case !s.Bound():
		e.State, e.Stale, e.Reason = Unowned, false, "the session of its holder names nobody; it is waited out"
	}
}

func member(e lock.Entry, stale bool) Member {
	r := e.Record
	out := Member{
		Identity: clean(r.Holder), Group: clean(r.Group), Session: clean(e.Name),
		Renewed: r.Renewed, State: memberStateOf(r, stale), Reason: cleanText(r.Unreadable),
	}
	if out.State == Unknown && out.Reason == "" {
		out.Reason = "the session names no member that can be believed"
	}
	if r.Bound() {
		out.Duration = r.Mark.Duration
	}
	if m := r.Member; m != nil {
		out.Identity = clean(m.Identity)
		out.Revision, out.Location, out.Weight = clean(m.Revision), string(m.Location), m.Weight
		out.Ready, out.Preference, out.Fallen = m.Ready, clean(m.Preference), m.Fallen
		for _, election := range m.Standing {
			out.Standing = append(out.Standing, clean(election))
		}
	}
	return out
}

// sort puts everything into a fixed order, and counts who leads how much.
func (r *Report) sort() {
	slices.SortFunc(r.Elections, func(a, b Election) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Lock, b.Lock))
	})
	slices.SortFunc(r.Members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Identity, b.Identity), cmp.Compare(a.Session, b.Session))
	})
	groups := map[string]bool{}
	leads := map[string]int{}
	for _, e := range r.Elections {
		groups[e.Group] = true
		if e.State == Led {
			leads[e.Holder]++
		}
	}
	for i := range r.Members {
		m := &r.Members[i]
		groups[m.Group] = true
		if m.State != Ended {
			m.Leads = leads[m.Identity]
		}
	}
	r.severalGroups = len(groups) > 1
}
