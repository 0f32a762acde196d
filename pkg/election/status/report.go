package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Report is who leads what at one moment. The names of its fields in JSON and YAML are
// stable: fields are added, never renamed.
type Report struct {
	// At is the wall-clock time of the look.
	At time.Time `json:"at"`
	// AsOf is when the picture was last known to be true; zero while the API is followed. It is set from when a
	// watch is cut until it shows everything again.
	AsOf      time.Time  `json:"asOf,omitzero"`
	Elections []Election `json:"elections"`
	Members   []Member   `json:"members"`
	// Deaths are the last ones that were known before a session lapsed, the latest first.
	Deaths []Death `json:"deaths,omitempty"`
	// Notes say what the report could not include.
	Notes []string `json:"notes,omitempty"`

	// severalGroups and severalKinds add a column for the group or the kind to tables.
	severalGroups, severalKinds bool
}

// Election is what the realm shows of one election.
type Election struct {
	Name  string `json:"name"`
	Group string `json:"group,omitempty"`
	// Lock is the name of the lock object, and Kind its kind.
	Lock string `json:"lock"`
	Kind Kind   `json:"kind"`
	// Namespace is where the lock is; empty for that of the sessions.
	Namespace string `json:"namespace,omitempty"`
	State     State  `json:"state"`
	// Reason explains a bad state.
	Reason string `json:"reason,omitempty"`
	// Stale says that the lock is held but looks expired; see the package.
	Stale bool `json:"stale,omitempty"`
	// Holder, Revision and Location are empty while nobody holds the lock.
	Holder   string `json:"holder,omitempty"`
	Revision string `json:"revision,omitempty"`
	Location string `json:"location,omitempty"`
	// Token is the token of the present or last term; zero before the first.
	Token uint64 `json:"token,omitempty"`
	// Acquired is when the state began: the lock was taken, or released.
	Acquired time.Time `json:"acquired,omitzero"`
	Renewed  time.Time `json:"renewed,omitzero"`
	// Transitions counts how often the holder changed to a new one.
	Transitions int `json:"transitions"`
	// HandoverTo is the nominee of a released lock.
	HandoverTo string `json:"handoverTo,omitempty"`
	// ForcedTo is the member to which somebody asks the holder to hand over, whatever the holder sees of the preference.
	ForcedTo string `json:"forcedTo,omitempty"`
	// AlsoOf is the selected group, if its configuration names the lock and a member of another group, Group, holds it. Two
	// groups cannot share a lock: the work of one of them never runs.
	AlsoOf string `json:"alsoOf,omitempty"`
	// Others are further locks of the election.
	Others []OtherLock `json:"otherLocks,omitempty"`

	// History lists the last transitions as members wrote them into the lock, oldest first.
	History []Transition `json:"-"`

	// lasts is how long the lock is held after a renewal, and claimed is the same of the elector from which it was or
	// would be claimed; zero if unknown.
	lasts, claimed time.Duration
	// migrates: its configuration has a lock from which it migrates.
	migrates bool
	// died is when the holder was proved dead whose session's end freed the lock; zero if nothing was proved.
	died time.Time
	// bySession: its holder's session renews it.
	bySession bool
}

// Ref names the lock.
func (e Election) Ref() Ref { return Ref{e.Kind, e.Namespace, e.Lock} }

// Lasts is how long the holder may be at work after it renewed the lock for the last time, if nothing proves that it is
// not. It means nothing without a holder.
func (e Election) Lasts() time.Duration { return e.lasts }

// EndsWithSession says whether the election is free as soon as its holder's session has ended. That is not so if a record
// of its own renews the lock, since members then wait for its lease, or if the holder has two locks. A lock that is left of
// a migration changes nothing.
func (e Election) EndsWithSession() bool {
	return e.bySession && !slices.ContainsFunc(e.Others, func(o OtherLock) bool { return o.Holder == e.Holder })
}

// Publishes is what the member publishes of its configuration: a digest of the names of its elections, and the rest.
func (m Member) Publishes() (elections string, setup record.Setup) {
	return m.says.Config, m.says.Setup
}

// LongestLease is the longest lease of the member, and of earlier members of its session's slot that may still be at work.
func (m Member) LongestLease() time.Duration { return m.says.LongestOfAll() }

// NotLooked returns the namespaces, sorted, that hold locks of the member's elections and that the report left out, since
// its Selection names no lock there. It is empty for a member that has ended.
func (m Member) NotLooked() []string { return m.unlooked }

// Member is what the realm shows of one member.
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
	// Standing lists elections in which its runners failed lately or are not ready, or whose locks no list has shown it yet.
	Standing []string `json:"standing,omitempty"`
	// Lacks says for some of these elections what it lacks to be ready.
	Lacks map[string]string `json:"lacks,omitempty"`
	// Lags says why it does not go by its configuration as it is written; empty if it does, as far as it knows.
	Lags string `json:"lags,omitempty"`
	// Fallen counts earlier sessions of its Pod or host that it did not end itself.
	Fallen int `json:"fallen,omitempty"`
	// Leads counts the elections that it holds.
	Leads int `json:"leads"`
	// Drained says that an operator keeps it out of elections. Locks and sessions do not show that: whoever reads the plan of the
	// group sets it.
	Drained bool `json:"drained,omitempty"`
	// Session is the name of the session object.
	Session string    `json:"session"`
	Renewed time.Time `json:"renewed,omitzero"`
	// Version is its program's version, Drift its bound on clock rates, and LeaseSeconds how long
	// its session lasts; empty if it does not publish that.
	Version      string  `json:"version,omitempty"`
	Drift        float64 `json:"drift,omitempty"`
	LeaseSeconds int     `json:"leaseSeconds,omitempty"`
	// Differs names the settings in which it differs from most living members of its group.
	Differs []string `json:"differs,omitempty"`
	// Namesakes are the identities of other living members of its group that have its name. They are not of earlier
	// sessions of this member: both renewed their sessions since both have begun.
	Namesakes []string `json:"namesakes,omitempty"`
	// Duration is how long the session lasts without a renewal; zero if unknown. Since is when it
	// began, by its owner's clock.
	Duration time.Duration `json:"-"`
	Since    time.Time     `json:"-"`
	// End is when the session ended, who ended it, and why; nil while it has not ended.
	End *Transition `json:"-"`
	// says is what it publishes about itself.
	says record.Member
	// unlooked are the places that NotLooked returns.
	unlooked []string
}

// Selection says what to report. The zero Selection selects everything that belongs to Primacy.
type Selection struct {
	// Group is the only group to report; empty means all.
	Group string
	// Elections are the names of the only elections to report; empty means all.
	Elections []string
	// Expected are elections to report even if they have no lock yet.
	Expected []Expected
	// Without are locks that nobody should hold, since their elections are disabled: they are
	// reported only if somebody does.
	Without []Ref
}

// Expected is an election and the name of its lock.
type Expected struct {
	Election, Lock string
	// Kind is the kind of the lock; empty for a Lease.
	Kind Kind
	// Namespace is where the lock is; empty for that of the sessions.
	Namespace string
	// MigrateFrom is the lock from which the election migrates.
	MigrateFrom Ref
}

func (e Expected) lock() Ref { return Ref{cmp.Or(e.Kind, Lease), e.Namespace, e.Lock} }

// Seen holds all objects of each kind.
type Seen struct {
	Leases, ConfigMaps []lock.Entry

	// Elsewhere are the locks in other namespaces, by namespace.
	Elsewhere map[string]Seen

	// notes say what is missing, and blind where everything is.
	notes []string
	blind map[site]bool
}

// Of reports what a list of all Leases shows, by the wall-clock time now.
func Of(s Selection, leases []lock.Entry, now time.Time) Report {
	return Seen{Leases: leases}.Report(s, now)
}

// Report reports what the objects show, by the wall-clock time now. An election has one row,
// however many locks it has.
func (all Seen) Report(s Selection, now time.Time) Report {
	r := Report{At: now.UTC(), Elections: []Election{}, Members: []Member{}, Notes: all.notes}
	expected := make(map[Ref]Expected, len(s.Expected))
	for _, e := range s.Expected {
		expected[e.lock()] = e
		if e.MigrateFrom != (Ref{}) {
			expected[e.MigrateFrom] = e
		}
	}
	sessions := map[string]lock.Entry{}
	var locks []seenLock
	for _, e := range all.entries() {
		if e.Absent() {
			continue
		}
		of, wanted := expected[e.Ref]
		switch {
		case !wanted && e.Kind == Lease && e.Ref.Namespace == "" && isSession(e.Entry, s.Group):
			sessions[e.Entry.Name] = e.Entry
			if s.picks(e.Record) {
				r.Members = append(r.Members, member(e.Entry, now))
				r.Deaths = append(r.Deaths, deaths(e.Entry)...)
			}
		case slices.Contains(s.Without, e.Ref) && e.Record.Holder == "":
		case wanted || e.Record.Group != "" && s.picks(e.Record):
			e.election, e.main = of.Election, wanted && of.lock() == e.Ref
			locks = append(locks, e)
		}
	}
	found := map[any][]seenLock{}
	for _, l := range locks {
		l.row = electionOf(l.Entry, l.election, sessions, now)
		l.row.Kind, l.row.Namespace, l.row.Group = l.Kind, l.Ref.Namespace, cmp.Or(l.row.Group, s.Group)
		if l.row.bySession && l.row.Namespace != "" {
			l.row.Reason = "its holder's session is in namespace " + l.row.Namespace + ", which shows whether it lives; members of this group leave the lock to it"
		}
		l.row.AlsoOf = l.alsoOf(s)
		l.row.migrates = expected[l.Ref].MigrateFrom != (Ref{})
		found[l.key()] = append(found[l.key()], l)
	}
	rowed := map[string]bool{}
	for _, locks := range found {
		r.Elections = append(r.Elections, one(locks))
		for _, l := range locks {
			rowed[l.election] = true
		}
	}
	for _, e := range s.Expected {
		if !rowed[e.Election] && !all.blind[site{e.lock().Kind, e.Namespace}] {
			r.Elections = append(r.Elections, Election{
				Name: e.Election, Group: s.Group, Lock: e.Lock, Kind: e.lock().Kind, Namespace: e.Namespace, State: Absent, Reason: "no member has created it yet",
			})
		}
	}
	r.notLooked(s)
	r.living()
	r.sort()
	r.compare()
	r.findNamesakes()
	if len(s.Elections) > 0 {
		r.Elections = slices.DeleteFunc(r.Elections, func(e Election) bool { return !slices.Contains(s.Elections, e.Name) })
	}
	return r
}

// notLooked notes where members that have not ended keep locks that the selection does not name. Nobody finds these by their
// labels: in another namespace they may be those of another group with the same name.
func (r *Report) notLooked(s Selection) {
	named, missed := map[string]bool{"": true}, map[string][]string{}
	for at := range s.locks() {
		named[at.namespace] = true
	}
	for i := range r.Members {
		m := &r.Members[i]
		for place := range strings.SplitSeq(m.says.Places, ",") {
			if m.State == Ended || named[place] {
				continue
			}
			m.unlooked = append(m.unlooked, clean(place))
			if !slices.Contains(missed[m.Group], clean(place)) {
				missed[m.Group] = append(missed[m.Group], clean(place))
			}
		}
		slices.Sort(m.unlooked)
	}
	for _, group := range slices.Sorted(maps.Keys(missed)) {
		slices.Sort(missed[group])
		r.Notes = append(r.Notes, fmt.Sprintf("elections whose locks are in namespace %s are not shown: the members of group %s have such, and only their configuration names them (give --config)", strings.Join(missed[group], ", "), group))
	}
}

// living finds locks that look expired though their holders live: members keep a lock without
// renewing it until its range of time is over.
func (r *Report) living() {
	for i := range r.Elections {
		e := &r.Elections[i]
		lives := slices.ContainsFunc(r.Members, func(m Member) bool { return m.State == Live && m.Identity == e.Holder })
		if e.State == Led && e.Stale && lives {
			e.Stale, e.Reason = false, "not renewed, though its holder lives: it waits for the end of its range, or its renewals fail"
		}
	}
}

// entries returns all objects with their kinds.
func (all Seen) entries() (entries []seenLock) {
	add := func(namespace string, in Seen) {
		for _, e := range in.Leases {
			entries = append(entries, seenLock{Ref: Ref{Lease, namespace, e.Name}, Entry: e})
		}
		for _, e := range in.ConfigMaps {
			entries = append(entries, seenLock{Ref: Ref{ConfigMap, namespace, e.Name}, Entry: e})
		}
	}
	add("", all)
	for namespace, in := range all.Elsewhere {
		add(namespace, in)
	}
	return entries
}

func (s Selection) picks(r *record.Record) bool { return s.Group == "" || r.Group == s.Group }

// isSession says whether an object is a session, even a broken one.
func isSession(e lock.Entry, group string) bool {
	if e.Record.IsSession() {
		return true
	}
	of := cmp.Or(e.Record.Group, group)
	return of != "" && strings.HasPrefix(e.Name, session.Prefix(of))
}

// expired says whether the record was not renewed for its duration, provided that the wall
// clocks of writer and reader agree.
func expired(r *record.Record, now time.Time) bool {
	return now.After(r.Renewed.Add(lasts(r)))
}

// lasts is how long a record lasts after a renewal.
func lasts(r *record.Record) time.Duration {
	if r.Bound() {
		return r.Mark.Duration
	}
	return r.Duration
}

func electionOf(e lock.Entry, name string, sessions map[string]lock.Entry, now time.Time) Election {
	r := e.Record
	out := Election{
		Name: clean(cmp.Or(name, r.Election, e.Name)), Group: clean(r.Group), Lock: clean(e.Name),
		Acquired: r.Acquired, Renewed: r.Renewed, Transitions: r.Transitions,
	}
	out.State, out.Reason = stateOf(r)
	out.Reason = cleanText(out.Reason)
	out.History, out.lasts = historyOf(r), lasts(r)
	out.claimed = out.lasts
	if r.Claim != nil {
		out.claimed = r.Claim.Duration
	}
	switch out.State {
	case Led, Claiming:
		out.Stale = expired(r, now)
		if r.ThroughSession() {
			out.bySession = true
			out.throughSession(e, sessions[r.Mark.Session], now)
		} else if out.State == Led && leftBehind(r, sessions[r.Mark.Session]) {
			out.Stale, out.Reason = true, "its holder's session has ended; members wait until the lock, which its record renews, lapses"
		}
		out.Revision, out.Location = clean(r.Mark.Key.Revision()), string(r.Mark.Key.Location())
		if out.State == Led && r.HandoverTo != r.Holder {
			out.ForcedTo = clean(r.HandoverTo)
		}
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

// leftBehind says whether the session of a record's holder has ended. The holder renewed the record itself, so it stays until it lapses.
func leftBehind(r *record.Record, session lock.Entry) bool {
	s := session.Record
	return s != nil && session.Version.UID == r.Mark.SessionUID && s.Bound() && s.Holder != r.Holder
}

// throughSession completes an election that its holder's session renews, by that session. The
// record itself was written when the term began.
func (e *Election) throughSession(lock, session lock.Entry, now time.Time) {
	r, s := lock.Record, session.Record
	if s == nil || session.Version.UID != r.Mark.SessionUID {
		e.State, e.Stale, e.Reason = Unowned, false, "its holder's session is unknown; members wait before they take the lock"
		return
	}
	e.Renewed, e.Stale, e.lasts = s.Renewed, expired(s, now), lasts(s)
	switch {
	case s.Released(), s.Bound() && s.Holder != r.Holder:
		e.State, e.Stale, e.Reason = Released, false, "its holder's session has ended"
		e.died, e.lasts = diedAt(r.Holder, session), max(e.lasts, r.Mark.Duration)
	case s.Bound() && s.Member.HasDisowned(lock.Version.UID, r.Mark.Beat):
		e.State, e.Stale, e.Reason = Released, false, "its holder could not write it, and disowned it"
	case !s.Bound():
		e.State, e.Stale, e.Reason = Unowned, false, "its holder's session names no member; members wait before they take the lock"
	}
}

func member(e lock.Entry, now time.Time) Member {
	r := e.Record
	out := Member{
		Identity: clean(r.Holder), Group: clean(r.Group), Session: clean(e.Name),
		Renewed: r.Renewed, Since: r.Acquired, State: memberStateOf(r, now), Reason: cleanText(r.Unreadable),
	}
	if out.State == Unknown && out.Reason == "" {
		out.Reason = "the session does not credibly name its member"
	}
	if r.Bound() {
		out.Duration = r.Mark.Duration
		out.LeaseSeconds = int(out.Duration / time.Second)
	}
	if all := historyOf(r); out.State == Ended && len(all) > 0 {
		out.End = &all[len(all)-1]
	}
	if m := r.Member; m != nil {
		out.says, out.Version, out.Drift = *m, clean(m.Version), m.Drift()
		out.Identity = clean(m.Identity)
		out.Revision, out.Location, out.Weight = clean(m.Revision), string(m.Location), m.Weight
		out.Ready, out.Preference, out.Fallen = m.Ready, clean(m.Preference), m.Fallen
		for _, election := range m.Standing {
			out.Standing = append(out.Standing, clean(election))
		}
		out.Lags = cleanText(m.Lags)
		for _, l := range m.Lacks {
			if out.Lacks == nil {
				out.Lacks = map[string]string{}
			}
			out.Lacks[clean(l.Election)] = cleanText(l.Why)
		}
	}
	return out
}

// sort puts everything into a fixed order, and counts the elections of each member.
func (r *Report) sort() {
	slices.SortFunc(r.Elections, func(a, b Election) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace))
	})
	slices.SortFunc(r.Members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Identity, b.Identity), cmp.Compare(a.Session, b.Session))
	})
	sortDeaths(r.Deaths)
	groups := map[string]bool{}
	leads := map[string]int{}
	for _, e := range r.Elections {
		groups[e.Group] = true
		r.severalKinds = r.severalKinds || e.Kind == ConfigMap || e.Namespace != ""
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
