package session

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// common is the prefix of the names of all sessions.
const common = "primacy-"

// Prefix is the prefix of the names of a group's sessions.
func Prefix(group string) string { return common + group + "-" }

// SlotName is the n-th name that a host or Pod may use for a session.
func SlotName(group, host string, n int) string {
	return Prefix(group) + host + "-" + strconv.Itoa(n)
}

// Directory holds the sessions of a group, as this member has seen them. It holds those of other groups,
// too: one of their members may hold a lock of our elections.
type Directory struct {
	group  string
	prefix string // of the names of our group's sessions
	timing record.Timing
	slots  []*slot // ordered by name
	// synced: we have seen a list.
	synced bool
	// provenAt is when we sent the last of our own beats that the stream has shown. The stream has also
	// shown everything that was stored before that.
	provenAt record.Instant
	// goneTo is the newest revision at which we saw a session absent, and goneAt is when. If something
	// shows an older session that we do not know, that session was deleted since.
	goneTo uint64
	goneAt record.Instant
	// predecessors are members whose slots are gone, or are used by others now. They may still be at work.
	predecessors []predecessor
	// longest is the longest leaseDuration that any session has published, of whatever group.
	longest time.Duration
	// others is what Bounds returned last.
	others record.Bounds
	// view is what View returned last.
	view *machine.View
}

type slot struct {
	name    string
	record  *record.Record
	version record.Version
	// member is the record's Member, with the open terms that its owner stated with its last beat.
	member *record.Member
	// at is when we last saw it, changedAt when we last saw its owner beat.
	at, changedAt record.Instant
	// bornAt is when we first saw its present holder.
	bornAt record.Instant
	// owner is the last holder in a bound record, and beat is its highest beat. stated is what the owner wrote with
	// that beat (rule observers-clock).
	owner  string
	beat   uint64
	stated stated
	// disowned are the locks that the owner disowned, as it wrote with that beat.
	disowned []record.Disowned
	// deaths are those of which the record told as we first saw its beat.
	deaths []record.Death
	// ended: we saw the owner's session ended. A session ends once (rule a-session-ends-once).
	ended bool
	// robbed are earlier owners, over whose sessions a stranger put the session of a member that had the slot before.
	robbed []machine.Robbed
	// tampered: since the owner's highest beat we saw the record without a mark bound to its holder, even if
	// the record is bound again; or the record shows its owner again after its end.
	tampered bool
}

// NewDirectory returns an empty directory; timing is that of the sessions.
func NewDirectory(group string, timing record.Timing) *Directory {
	return &Directory{group: group, prefix: Prefix(group), timing: timing, view: &machine.View{}}
}

// find returns the index at which the named slot is, or would be.
func (d *Directory) find(name string) (at int, exists bool) {
	return slices.BinarySearchFunc(d.slots, name, func(s *slot, name string) int { return strings.Compare(s.name, name) })
}

// slot returns the named slot; nil if there is none.
func (d *Directory) slot(name string) *slot {
	if at, exists := d.find(name); exists {
		return d.slots[at]
	}
	return nil
}

func (d *Directory) remove(now record.Instant, name string) {
	if at, exists := d.find(name); exists {
		d.noteLast(now, d.slots[at])
		d.slots = slices.Delete(d.slots, at, at+1)
	}
}

// Owns says whether the named object belongs among the sessions: a lock never does.
func (d *Directory) Owns(name string) bool { return strings.HasPrefix(name, d.prefix) }

// Shows says whether an object that is no lock of ours belongs among the sessions. For sessions of our group
// the name decides, for those of other groups the record, or an earlier record of that object.
func (d *Directory) Shows(name string, r *record.Record) bool {
	return d.Owns(name) || strings.HasPrefix(name, common) && (r != nil && r.IsSession() || d.slot(name) != nil)
}

// Observe records one object, or its absence, as a stream or the answer to a write showed it. It ignores what is not newer
// than what the directory knows.
func (d *Directory) Observe(now record.Instant, name string, r *record.Record, v record.Version) {
	d.observe(now, name, r, v, inOrder)
}

// order says whether there may be versions of an object between two that we see.
type order uint8

const (
	// inOrder: a stream shows each version.
	inOrder order = iota
	// skipping: a list or a read may skip some.
	skipping
)

func (d *Directory) observe(now record.Instant, name string, r *record.Record, v record.Version, o order) {
	at, exists := d.find(name)
	switch {
	case exists && v.Revision <= d.slots[at].version.Revision:
	case r == nil:
		if exists {
			d.noteLast(now, d.slots[at])
			d.slots = slices.Delete(d.slots, at, at+1)
		}
		d.absent(now, v.Revision)
	case exists:
		before := d.slots[at]
		s := d.after(now, before, name, r, v)
		s.robbed = d.robbedBy(now, before, s, o)
		next := s.owner != before.owner || s.stated.identity != before.stated.identity || v.UID != before.version.UID
		if next {
			d.noteLast(now, before)
		}
		if next || s.beat > before.beat {
			d.noteTold(now, s)
		}
		d.slots[at] = s
	case v.Revision > d.goneTo:
		s := d.after(now, nil, name, r, v)
		d.noteTold(now, s)
		d.slots = slices.Insert(d.slots, at, s)
	}
}

// absent notes that we know all deletions up to the revision.
func (d *Directory) absent(now record.Instant, revision uint64) {
	if revision > d.goneTo {
		d.goneTo, d.goneAt = revision, now
	}
}

// returned says whether a request, sent at the instant sent, showed an object that had been deleted
// before: then the store was restored to an earlier state.
func (d *Directory) returned(name string, v record.Version, sent record.Instant) bool {
	return d.slot(name) == nil && v.Revision <= d.goneTo && d.goneAt < sent
}

// Read records what a consistent read, sent at the instant sent, showed of one session. It returns false if
// the answer is older than what we knew at that instant: the store was restored to an earlier state.
func (d *Directory) Read(now, sent record.Instant, name string, r *record.Record, v record.Version) bool {
	if r == nil {
		d.Vanished(now, sent, name)
		return true
	}
	known := d.slot(name)
	if known != nil && known.outlived(v) && known.at < sent || d.returned(name, v, sent) {
		return false
	}
	d.observe(now, name, r, v, skipping)
	if s := d.slot(name); known != nil && s != known {
		s.changedAt = now // the read may have skipped a beat (rule unknown-is-waited-out)
	}
	return true
}

// outlived says whether v is older than the version that we know, or comes from another history of the
// store: unless the store was restored, each revision has only one version.
func (s *slot) outlived(v record.Version) bool {
	return v.Revision < s.version.Revision || v.Revision == s.version.Revision && v != s.version
}

// Vanished records that a consistent read, sent at the instant sent, found no object. It ignores that if we
// have seen the object since.
func (d *Directory) Vanished(now, sent record.Instant, name string) {
	if s := d.slot(name); s != nil && s.at <= sent {
		d.remove(now, name)
	}
}

// Shown is one object of a list.
type Shown struct {
	Name    string
	Record  *record.Record
	Version record.Version
}

// List records all sessions, as a consistent list requested at the instant sent showed them. It returns
// false if the list is older than what we knew at that instant: the store was restored to an earlier state.
func (d *Directory) List(now, sent record.Instant, revision uint64, all []Shown) bool {
	consistent := revision >= d.goneTo || sent <= d.goneAt
	shown := make(map[string]bool, len(all))
	for _, e := range all {
		shown[e.Name] = true
		known := d.slot(e.Name)
		if known != nil && known.outlived(e.Version) && known.at < sent || d.returned(e.Name, e.Version, sent) {
			consistent = false
		}
		d.observe(now, e.Name, e.Record, e.Version, skipping)
		if s := d.slot(e.Name); known != nil && s != known {
			s.changedAt = now // it may have beaten while the stream was broken (rule unknown-is-waited-out)
		}
	}
	d.slots = slices.DeleteFunc(d.slots, func(s *slot) bool {
		if shown[s.name] {
			return false
		}
		if s.version.Revision > revision && s.at < sent {
			consistent = false // nobody deleted it: the list is from before it was made
		}
		if s.version.Revision > revision {
			return false
		}
		d.noteLast(now, s)
		return true
	})
	d.synced = true
	d.absent(now, revision)
	return consistent
}

// after returns the slot that replaces before once the object shows r. It begins the waits that follow from
// the change.
func (d *Directory) after(now record.Instant, before *slot, name string, r *record.Record, v record.Version) *slot {
	s := &slot{name: name, record: r, member: r.Member, version: v, at: now, changedAt: now, bornAt: now, stated: statedBy(r)}
	if r.Bound() {
		s.owner, s.beat, s.ended = r.Holder, r.Mark.Beat, r.Released()
		if r.Member != nil {
			s.disowned = r.Member.Disowned
		}
		s.deaths = told(r, v.UID)
	}
	d.longest = max(d.longest, s.stated.longest())
	if before == nil || before.version.UID != v.UID {
		return s
	}
	switch bound := r.Bound(); {
	case bound && r.Holder == "" && before.stated.endsAnother(r): // we missed all of its life
	case bound && r.Holder == "":
		s.owner, s.beat, s.ended = before.owner, before.beat, s.ended || before.ended
		if before.stated.duration != 0 { // an end does not change how long others wait for the owner's terms
			s.stated = before.stated
			s.stated.left = before.stated.left || !before.ended && endedBy(r, before.stated.identity)
		}
		if before.ended && holderOf(before.record) == "" { // later edits of the end prove nothing
			s.deaths = before.deaths
		}
	case bound && s.owner != before.owner: // another member uses the slot now
	case bound && s.beat > before.beat:
		s.ended, s.tampered = before.ended, before.ended
	default: // a stranger's edit: it must not shorten the wait
		s.tampered = before.tampered || !bound || before.ended
		s.owner, s.beat, s.ended = before.owner, before.beat, before.ended
		s.stated, s.disowned, s.deaths = before.stated, before.disowned, before.deaths
		if m := r.Member; m != nil && !slices.Equal(m.Open, s.stated.open) {
			edited := *m
			edited.Open, s.member = s.stated.open, &edited
		}
	}
	if holderOf(before.record) == holderOf(r) {
		s.bornAt = before.bornAt
		if beatOf(before.record) == beatOf(r) {
			s.changedAt = before.changedAt
		}
	}
	return s
}

// LongestEver is the longest leaseDuration that any session ever published, even if it is gone.
func (d *Directory) LongestEver() time.Duration { return d.longest }

func holderOf(r *record.Record) string {
	if !r.Bound() {
		return ""
	}
	return r.Holder
}

func beatOf(r *record.Record) uint64 {
	if !r.Bound() {
		return 0
	}
	return r.Mark.Beat
}

// state is the state of a slot's session.
type state int

const (
	live state = iota + 1
	expired
	ended
	// alien: it belongs to another group, or is no session at all.
	alien
)

// endOf is when a session expires unless it beats again, whether or not we can read it.
func (d *Directory) endOf(s *slot) record.Instant {
	return s.changedAt.Add(d.lasts(s))
}

// lasts is how long we wait for the slot's owner after its last beat.
func (d *Directory) lasts(s *slot) time.Duration {
	t := d.timing.Among(d.others)
	if s.stated.duration != 0 {
		t.LeaseDuration = max(d.timing.LeaseDuration, s.stated.duration)
	}
	return t.ObserverWait(t.LeaseDuration)
}

func (d *Directory) isAlien(s *slot) bool {
	return d.isOthers(s.name, s.record.Group)
}

// isOthers says whether a session with that name, and that group in its record, belongs to another group.
func (d *Directory) isOthers(name, group string) bool {
	return group != "" && group != d.group || !d.Owns(name)
}

func (d *Directory) stateOf(s *slot, now record.Instant) state {
	switch {
	case d.isAlien(s):
		return alien
	case s.record.Released():
		return ended
	case s.strange():
		return alien
	case now >= d.endOf(s):
		return expired
	}
	return live
}

// View returns the living members except without, in a fixed order, and all sessions. changes is the
// instant at which the view changes by itself; zero for never. While nothing changes, View returns the same
// pointer.
func (d *Directory) View(now record.Instant, without string) (view *machine.View, changes record.Instant) {
	var few [16]living
	all := few[:0]
	note := func(at record.Instant) {
		if at > now && (changes == 0 || at < changes) {
			changes = at
		}
	}
	older := false
	for _, s := range d.slots {
		if d.isAlien(s) || s.strange() {
			note(d.endOf(s)) // from then on its owner is gone
		}
		for _, r := range s.robbed {
			note(r.Until)
		}
		older = older || d.isOlder(s, now, without)
		holder := holderOf(s.record)
		if holder == "" || holder == without || s.member == nil || d.stateOf(s, now) != live {
			continue
		}
		note(d.endOf(s))
		l := living{identity: holder, member: s.member, trust: machine.Proven}
		if proven := d.probationEnds(s); now < proven {
			l.trust = machine.OnProbation
			note(proven)
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b living) int { return strings.Compare(a.identity, b.identity) })
	if older != d.view.Older || !slices.EqualFunc(all, d.view.Peers, living.shownBy) || !d.sessionsShownBy(d.view, now) {
		d.view = &machine.View{Peers: make([]machine.Peer, 0, len(all)), Sessions: make(map[string]machine.Session, len(d.slots)), Older: older}
		for _, s := range d.slots {
			d.view.Sessions[s.name] = d.session(s, now)
		}
		for _, l := range all {
			p := machine.Peer{Member: *l.member, Trust: l.trust}
			p.Identity = l.identity
			d.view.Peers = append(d.view.Peers, p)
		}
	}
	return d.view, changes
}

// session is the slot in the machine's terms.
func (d *Directory) session(s *slot, now record.Instant) machine.Session {
	if (d.isAlien(s) || s.strange()) && now >= d.endOf(s) {
		return machine.Session{} // the owner is gone, but we may not end its session: we wait out its locks
	}
	return machine.Session{
		UID: s.version.UID, Holder: holderOf(s.record), Ended: s.record.Released(), Disowned: s.disowned, Deaths: s.deaths,
		Robbed: s.robbedAt(now),
	}
}

// isOlder says whether the slot is that of another living member whose version does not know disowned
// locks.
func (d *Directory) isOlder(s *slot, now record.Instant, without string) bool {
	holder := holderOf(s.record)
	return holder != "" && holder != without && s.record.Member != nil && s.record.Member.Protocol < 1 && now < d.endOf(s)
}

func (d *Directory) sessionsShownBy(v *machine.View, now record.Instant) bool {
	if len(v.Sessions) != len(d.slots) {
		return false
	}
	return !slices.ContainsFunc(d.slots, func(s *slot) bool { return !v.Sessions[s.name].Equal(d.session(s, now)) })
}

// living is a member whose session lives.
type living struct {
	identity string
	member   *record.Member
	trust    machine.Trust
}

func (l living) shownBy(p machine.Peer) bool {
	return l.identity == p.Identity && l.trust == p.Trust && l.member.Equal(&p.Member)
}

// Expired returns in dead the sessions that expired and that nobody has ended, once their expiry is proven:
// the stream has shown a beat that we sent after the session expired, so it would have shown an earlier beat
// of the owner.
// next is when another one may expire; zero for never. unproven is the latest end of a session for which
// only the proof is missing.
func (d *Directory) Expired(now record.Instant) (dead []Shown, next, unproven record.Instant) {
	for _, s := range d.slots {
		if is := d.stateOf(s, now); is == ended || is == alien {
			continue
		}
		switch end := d.endOf(s); {
		case now < end:
			if next == 0 || end < next {
				next = end
			}
		case d.provenAt >= end:
			dead = append(dead, Shown{Name: s.name, Record: s.record, Version: s.version})
		default:
			unproven = max(unproven, end)
		}
	}
	return dead, next, unproven
}

// Ending says how a session ended, in the words of the member that ended it; empty if it has not ended.
func (d *Directory) Ending(name string) string {
	s := d.slot(name)
	if s == nil || s.record == nil || !s.record.Released() || len(s.record.History) == 0 {
		return ""
	}
	return s.record.History[len(s.record.History)-1].Why
}

// Lasts says whether the named session is there and has not ended.
func (d *Directory) Lasts(name string) bool {
	s := d.slot(name)
	return s != nil && !s.record.Released()
}
