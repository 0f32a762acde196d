package explore

import (
	"reflect"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// The canonical form of sessions is made by hand, of what package session keeps to itself.
// sessionFields says of each field what becomes of it, so that none is forgotten.
var sessionFields = map[string]string{
	"Own.cfg":       "", // the same for all incarnations
	"Own.dir":       "", // the member's own
	"Own.member":    "told by incarnation and preference, but for Fallen",
	"Own.phase":     "plain",
	"Own.slot":      "plain",
	"Own.uid":       "object",
	"Own.beat":      "beat",
	"Own.inFlight":  "whether there is one: it is the last beat",
	"Own.read":      "plain",
	"Own.onto":      "while its outcome is in doubt",
	"Own.doubtful":  "plain",
	"Own.unfit":     "", // nobody fills a slot up here
	"Own.published": "whether it is what is to be said; Fallen",
	"Own.beatAt":    "until",
	"Own.retryAt":   "until",
	"Own.joinedAt":  "while it has fallen: until it has lived for long enough",
	"Own.fallen":    "slot, holder, beat and count of each",
	"Own.ending":    "of each session: whether this very version was tried to end, and until when not again",
	"Own.lost":      "plain",
	"Own.sent":      "when the last one went out, and those that may be seen yet",
	"Own.leaveSoon": "plain",

	"Directory.group":    "",
	"Directory.timing":   "",
	"Directory.slots":    "all",
	"Directory.synced":   "plain",
	"Directory.provenAt": "instant",
	"Directory.goneTo":   "whether a request shows what is older, and was deleted",
	"Directory.goneAt":   "no store is restored here",
	"Directory.others":   "all members have one timing",
	"Directory.view":     "it is the last one that the machine was told; who of the sessions is in it",

	"slot.name":      "plain",
	"slot.record":    "as a session",
	"slot.version":   "by its place among those of this session",
	"slot.at":        "whether it is now, and of each list and read whether it went out later",
	"slot.changedAt": "as the end of the session",
	"slot.bornAt":    "while it has fallen: until it is proven",
	"slot.duration":  "", // all are alike
	"slot.owner":     "", // for sessions that strangers edited, and so the next two
	"slot.beat":      "",
	"slot.ended":     "",
	"slot.tampered":  "plain",
	"slot.disowned":  "", // its members are of a version that disowns nothing
	"slot.setup":     "", // all are alike
}

// private reads fields of package session.
type private struct{ v reflect.Value }

func look(p any) private { return private{reflect.ValueOf(p).Elem()} }

// places are where the fields are that are read by name.
var places = func() map[place]int {
	found, seen := map[place]int{}, map[reflect.Type]bool{}
	var find func(reflect.Type)
	find = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			find(of.Elem())
		case reflect.Struct:
			if seen[of] {
				return
			}
			seen[of] = true
			for i := range of.NumField() {
				found[place{of, of.Field(i).Name}] = i
				find(of.Field(i).Type)
			}
		}
	}
	find(reflect.TypeFor[session.Own]())
	find(reflect.TypeFor[machine.State]())
	return found
}()

type place struct {
	of   reflect.Type
	name string
}

func (p private) field(name string) reflect.Value {
	at, exists := places[place{p.v.Type(), name}]
	if !exists {
		panic("explore: there is no " + p.v.Type().Name() + "." + name)
	}
	return p.v.Field(at)
}

func (p private) get(name string) private            { return private{p.field(name)} }
func (p private) is(name string) bool                { return p.field(name).Bool() }
func (p private) int(name string) int64              { return p.field(name).Int() }
func (p private) uint(name string) uint64            { return p.field(name).Uint() }
func (p private) text(name string) string            { return p.field(name).String() }
func (p private) instant(name string) record.Instant { return record.Instant(p.int(name)) }

func (p private) version(name string) record.Version {
	v := p.get(name)
	return record.Version{UID: v.text("UID"), Revision: v.uint("Revision")}
}

// sentAt is when the beat went out that is shown under a name; zero where it is none of the
// member's own.
func (m *member) sentAt(name string, s stored) record.Instant {
	r := s.record
	own := look(m.own)
	if r == nil || r.Holder != m.cfg.Member.Identity || name != own.text("slot") || !r.Bound() {
		return 0
	}
	return sentAt(own, r.Mark.Beat)
}

func sentAt(own private, beat uint64) record.Instant {
	list := own.get("sent").v
	for n := list.Len() - 1; n >= 0; n-- {
		if of := (private{list.Index(n)}); of.uint("beat") == beat {
			return of.instant("at")
		}
	}
	return 0
}

// groups of numbers that are compared among themselves only.
const (
	beatsOfSession     = 100
	revisionsOfSession = 1000
)

func (c *canon) grouped(group int, of string, n uint64) {
	if n == 0 {
		c.add(0, plain)
		return
	}
	c.add((int64(group)+c.text(of))<<32|int64(n), beat) // #nosec G115 -- small
}

func (c *canon) instant(at record.Instant, k class) { c.add(int64(at), k) }

// sight is when a beat of the member's own went out that may be shown to it yet; never
// where that would tell it nothing new.
func (c *canon) sight(m *member, at record.Instant) {
	if at <= m.beat.Sent {
		at = 0
	}
	c.instant(at, instant)
}

// sessionRecord adds what a session says. Whose it was stays on record when it has ended.
func (c *canon) sessionRecord(r private) {
	holder, of := r.text("Holder"), private{r.get("Member").v.Elem()}
	c.add(c.text(holder), plain)
	c.add(c.text(of.text("Identity")), plain)
	c.add(c.text(of.text("Preference")), plain)
	c.add(of.int("Fallen"), plain)
	if holder != "" {
		c.grouped(beatsOfSession, holder, private{r.get("Mark").v.Elem()}.uint("Beat"))
		return
	}
	history := r.get("History").v
	last := history.Len() - 1
	c.flag(last >= 0 && private{history.Index(last)}.text("Who") == of.text("Identity")) // ended by its owner
}

func (c *canon) session(name string, s stored) {
	c.add(c.text(name), plain)
	c.uid(s.version.UID)
	c.grouped(revisionsOfSession, name, s.version.Revision)
	if s.record == nil {
		c.add(-1, plain)
		return
	}
	c.sessionRecord(look(s.record))
}

// life adds a member's session, and what it knows of all.
func (c *canon) life(w *world, m *member) {
	if m.own == nil {
		return
	}
	own, dir := look(m.own), look(m.dir)
	phase := own.int("phase")
	c.add(phase, plain)
	c.add(own.int("read"), plain)
	fallen := own.get("fallen").v
	doubtful := own.is("doubtful") && !m.own.Joined()
	published, said := own.get("published"), own.get("member")
	c.flag(own.uint("inFlight") != 0, own.is("leaveSoon"), doubtful, dir.is("synced"), m.truth.ended, m.told == m.beat.Sent,
		published.text("Preference") == said.text("Preference"), m.truth.shownSent == m.beat.Sent)
	slot := own.text("slot")
	c.add(c.text(slot), plain)
	c.add(c.text(own.text("lost")), plain)
	c.add(c.text(string(m.ending)), plain)
	c.uid(own.text("uid"))
	c.grouped(beatsOfSession, m.cfg.Member.Identity, own.uint("beat"))
	if doubtful {
		v := own.version("onto")
		c.uid(v.UID)
		c.grouped(revisionsOfSession, slot, v.Revision)
	}
	c.add(published.int("Fallen"), plain)
	c.add(said.int("Fallen"), plain)
	c.instant(own.instant("beatAt"), until)
	c.instant(own.instant("retryAt"), until)
	c.add(int64(fallen.Len()), plain)
	standDown := w.x.options.Timing.StandDown
	if fallen.Len() > 0 || published.int("Fallen") > 0 {
		c.words = append(c.words, word{value: own.int("joinedAt"), class: since, reach: int16(ticks(2 * record.Doubled(standDown, 5)))}) // #nosec G115 -- small
	}
	for n := range fallen.Len() {
		f := private{fallen.Index(n)}
		c.add(c.text(f.text("slot")), plain)
		c.add(f.int("count"), plain)
		c.grouped(beatsOfSession, f.text("holder"), f.uint("beat"))
	}
	last := record.Instant(0)
	if sent := own.get("sent").v; sent.Len() > 0 {
		last = private{sent.Index(sent.Len() - 1)}.instant("at")
	}
	c.instant(last, instant)
	c.instant(dir.instant("provenAt"), instant)
	c.instant(m.beat.Sent, instant)
	c.instant(m.truth.beatSent.Add(m.cfg.Timing.Validity()), until)
	c.instant(m.viewAt, due)
	c.instant(m.stepAt, due)
	c.flag(m.leftAt != 0)
	c.words = append(c.words, word{value: int64(m.leftAt), class: since, reach: int16(lease(c.timing))}) // #nosec G115 -- small
	// Whether the proof is there that an unknown owner is gone.
	c.flag(m.state.Lock.Owner == machine.Unowned && m.beat.Sent >= m.ownerlessSince().Add(c.timing.ObserverWait(c.timing.LeaseDuration)))

	slots := dir.get("slots").v
	c.add(int64(slots.Len()), plain)
	for n := range slots.Len() {
		c.slot(m, own, private{slots.Index(n).Elem()})
	}
	c.add(int64(len(m.requests)), plain)
	for n := range m.requests {
		c.request(m, &m.requests[n])
	}
}

func (m *member) ownerlessSince() record.Instant { return look(&m.state.Lock).instant("since") }

// slot adds what a directory knows of one session.
func (c *canon) slot(m *member, own, s private) {
	name, v := s.text("name"), s.version("version")
	r := private{s.get("record").v.Elem()}
	holder := r.text("Holder")
	c.add(c.text(name), plain)
	c.uid(v.UID)
	c.grouped(revisionsOfSession, name, v.Revision)
	c.sessionRecord(r)
	c.flag(s.is("tampered"))
	c.instant(s.instant("at"), present)
	trust := machine.Trust(0)
	for _, p := range m.view.Peers {
		if p.Identity == holder {
			trust = p.Trust
		}
	}
	c.add(int64(trust), plain)
	if holder != "" {
		c.instant(s.instant("changedAt").Add(c.timing.ObserverWait(time.Duration(s.int("duration")))), instant)
	}
	if holder != "" && (private{r.get("Member").v.Elem()}).int("Fallen") > 0 {
		c.words = append(c.words, word{value: s.int("bornAt"), class: since, reach: int16(ticks(record.Doubled(c.timing.StandDown, 5)))}) // #nosec G115 -- small
	}
	tried, next := false, int64(0)
	if e := own.get("ending").v.MapIndex(reflect.ValueOf(name)); e.IsValid() {
		tried, next = private{e}.version("onto") == v, private{e}.int("next")
	}
	c.flag(tried)
	c.add(next, until)
}

// request adds one of a session.
func (c *canon) request(m *member, q *request) {
	c.add(c.text(q.name), plain)
	c.add(int64(q.phase), plain)
	_, known := m.known(q.name)
	c.flag(!known && q.phase == committed && q.stored.version.Revision <= look(m.dir).uint("goneTo"))
	if q.ask == nil {
		c.flag(q.phase == committed && q.sent > m.knownAt(q.name))
		if q.phase == committed {
			c.session(q.name, q.stored)
		}
		return
	}
	c.flag(q.ask.Beat != 0)
	c.askSession(q.ask)
	if q.phase == committed {
		c.grouped(revisionsOfSession, q.name, q.stored.version.Revision)
		c.uid(q.stored.version.UID)
	}
}

func (c *canon) askSession(a *session.Write) {
	c.uid(a.If.UID)
	c.grouped(revisionsOfSession, a.Name, a.If.Revision)
	c.sessionRecord(look(&a.Record))
}

// knownAt is when a session was shown to the member last.
func (m *member) knownAt(name string) record.Instant {
	if s, known := m.known(name); known {
		return s.instant("at")
	}
	return 0
}

func (m *member) known(name string) (private, bool) {
	slots := look(m.dir).get("slots").v
	for n := range slots.Len() {
		if s := (private{slots.Index(n).Elem()}); s.text("name") == name {
			return s, true
		}
	}
	return private{}, false
}

// queued adds what a stream will show of sessions.
func (c *canon) queued(m *member, q *shown) {
	if q.source == machine.List {
		c.add(int64(len(q.sessions)), plain)
		for _, o := range q.sessions {
			c.shownSession(m, o.name, o.stored, q.sent)
		}
		slots := look(m.dir).get("slots").v
		for n := range slots.Len() {
			s := private{slots.Index(n).Elem()}
			if !slices.ContainsFunc(q.sessions, func(o kept) bool { return o.name == s.text("name") }) {
				c.flag(s.version("version").Revision > q.revision, s.instant("at") < q.sent)
			}
		}
		return
	}
	c.shownSession(m, q.name, q.stored, 0)
}

func (c *canon) shownSession(m *member, name string, s stored, sent record.Instant) {
	c.add(c.text(name), plain)
	c.sight(m, m.sentAt(name, s))
	if known, is := m.known(name); is && s.version.Revision <= known.version("version").Revision {
		// History, but what it tells of the store where it is of a list.
		c.flag(true, s.version == known.version("version"), sent != 0 && known.instant("at") < sent)
		return
	}
	c.flag(false)
	c.session(name, s)
}

// pending adds when beats went out that may be shown to the member by what is not its own.
func (c *canon) pending(w *world, m *member) {
	if m.own == nil {
		return
	}
	own := look(m.own)
	slot := own.text("slot")
	c.sight(m, m.sentAt(slot, w.session(slot)))
	for _, s := range w.strays {
		if s.session != nil && s.session.Beat != 0 && s.session.Record.Holder == m.cfg.Member.Identity {
			c.sight(m, sentAt(own, s.session.Beat))
		}
	}
}
