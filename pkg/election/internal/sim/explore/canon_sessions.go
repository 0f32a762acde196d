package explore

import (
	"reflect"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The canonical form of sessions is made by hand from the private fields of package session.
// sessionFields says of each field what the form holds for it, so that none is forgotten.
var sessionFields = map[string]string{
	"Own.cfg":          "", // the same for all incarnations
	"Own.dir":          "", // the member's own
	"Own.member":       "told by incarnation and preference",
	"Own.phase":        "plain",
	"Own.slot":         "plain",
	"Own.uid":          "uid",
	"Own.beat":         "beat",
	"Own.inFlight":     "whether there is one: it is the last beat",
	"Own.read":         "plain",
	"Own.onto":         "while its outcome is in doubt",
	"Own.doubtful":     "plain",
	"Own.unfit":        "", // nobody fills a slot up here
	"Own.deaths":       "", // no death is proved here
	"Own.predecessors": "", // all members have one timing
	"Own.stride":       "", // its identity says so
	"Own.renewed":      "plain",
	"Own.refused":      "whether it is the last beat",
	"Own.published":    "whether it is what is to be said; Fallen",
	"Own.beatAt":       "until",
	"Own.retryAt":      "until",
	"Own.joinedAt":     "while it has fallen: until it has lived for long enough",
	"Own.fallen":       "slot, holder, beat and count of each; no fall is old here",
	"Own.ending":       "of each session: whether this very version was tried to end, and until when not again",
	"Own.lost":         "plain",
	"Own.sent":         "when the last one went out, and those that may be seen yet; answers matter where terms fail open",
	"Own.leaveSoon":    "plain",

	"Directory.group":        "",
	"Directory.prefix":       "",
	"Directory.timing":       "",
	"Directory.slots":        "all",
	"Directory.synced":       "plain",
	"Directory.provenAt":     "instant",
	"Directory.goneTo":       "whether a request shows what is older, and was deleted",
	"Directory.goneAt":       "no store is restored here",
	"Directory.predecessors": "all members have one timing",
	"Directory.longest":      "all members have one timing",
	"Directory.others":       "all members have one timing",
	"Directory.view":         "it is the last one that the machine was told; who of the sessions is in it",

	"slot.name":      "plain",
	"slot.record":    "as a session",
	"slot.member":    "", // its record says so
	"slot.version":   "by its place among those of this session",
	"slot.at":        "whether it is now, and of each list and read whether it went out later",
	"slot.changedAt": "as the end of the session",
	"slot.bornAt":    "while it has fallen: until it is proven",
	"slot.owner":     "", // for sessions that strangers edited, and so the next two
	"slot.beat":      "",
	"slot.ended":     "",
	"slot.tampered":  "plain",
	"slot.robbed":    "", // no session is put back here
	"slot.deaths":    "", // no death is proved here
	"slot.disowned":  "", // its record says so
	"slot.stated":    "", // its record says so, and all timings are alike
}

// private reads private fields of packages session and member.
type private struct {
	v reflect.Value
	// at maps the names of the fields to their positions.
	at map[string]int
}

func look(p any) private { return inside(reflect.ValueOf(p).Elem()) }

func inside(v reflect.Value) private { return private{v, places[v.Type()]} }

// places maps each type that a member contains to the positions of its fields.
var places = func() map[reflect.Type]map[string]int {
	found := map[reflect.Type]map[string]int{}
	var find func(reflect.Type)
	find = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			find(of.Elem())
		case reflect.Struct:
			if found[of] != nil {
				return
			}
			at := map[string]int{}
			found[of] = at
			for i := range of.NumField() {
				at[of.Field(i).Name] = i
				find(of.Field(i).Type)
			}
		}
	}
	find(reflect.TypeFor[member.Member]())
	return found
}()

func (p private) field(name string) reflect.Value {
	at, exists := p.at[name]
	if !exists {
		panic("explore: there is no " + p.v.Type().Name() + "." + name)
	}
	return p.v.Field(at)
}

func (p private) get(name string) private            { return inside(p.field(name)) }
func (p private) to(name string) private             { return inside(p.field(name).Elem()) }
func (p private) is(name string) bool                { return p.field(name).Bool() }
func (p private) int(name string) int64              { return p.field(name).Int() }
func (p private) uint(name string) uint64            { return p.field(name).Uint() }
func (p private) text(name string) string            { return p.field(name).String() }
func (p private) instant(name string) record.Instant { return record.Instant(p.int(name)) }

// member and record alias the original: nobody writes to them.
func (p private) member(name string) *record.Member {
	return (*record.Member)(p.field(name).Addr().UnsafePointer())
}

func (p private) record(name string) *record.Record {
	return (*record.Record)(p.field(name).UnsafePointer())
}

func (p private) version(name string) record.Version {
	v := p.get(name)
	return record.Version{UID: v.text("UID"), Revision: v.uint("Revision")}
}

// own is the member's session.
func (m *proc) own() private { return look(m.member).to("own") }

// dir is what the member knows of all sessions.
func (m *proc) dir() private { return look(m.member).to("dir") }

// beat is when the member sent the newest of its beats that its stream has shown.
func (m *proc) beat() record.Instant { return look(m.member).get("beat").instant("Sent") }

// sentAt is when the member sent the beat that s shows under the given name; zero if the beat is not its own.
func (m *proc) sentAt(identity, name string, s stored) record.Instant {
	r := s.record
	if m.member == nil || r == nil || r.Holder != identity || !r.Bound() {
		return 0
	}
	own := m.own()
	if name != own.text("slot") {
		return 0
	}
	return sentAt(own, r.Mark.Beat)
}

func sentAt(own private, beat uint64) record.Instant {
	list := own.get("sent").v
	for n := list.Len() - 1; n >= 0; n-- {
		if of := inside(list.Index(n)); of.uint("beat") == beat {
			return of.instant("at")
		}
	}
	return 0
}

// These groups hold numbers that are compared only within their group.
const (
	beatsOfSession     = 1000
	revisionsOfSession = 2000
	beatsOfLock        = 3000
	uids               = 4000
)

func (c *canon) grouped(group int, of string, n uint64) {
	if n == 0 {
		c.add(0, plain)
		return
	}
	c.add((int64(group)+c.text(of))<<32|int64(n), beat) // #nosec G115 -- small
}

func (c *canon) instant(at record.Instant, k class) { c.add(int64(at), k) }

// sight adds the sending time at of a beat of the member's own that it may yet be shown; never if the beat
// would tell it nothing new.
func (c *canon) sight(m *proc, at record.Instant) {
	if at <= m.beat() {
		at = 0
	}
	c.instant(at, instant)
}

// sessionRecord adds what a session says. An ended session still says whose it was.
func (c *canon) sessionRecord(r *record.Record) {
	c.add(c.text(r.Holder), plain)
	c.says(r.Member)
	if r.Holder != "" {
		c.grouped(beatsOfSession, r.Holder, r.Mark.Beat)
		return
	}
	last := len(r.History) - 1
	c.flag(last >= 0 && r.History[last].Who == r.Member.Identity) // ended by its owner
}

// says adds what a member publishes about itself in its session.
func (c *canon) says(m *record.Member) {
	c.add(c.text(m.Identity), plain)
	c.add(c.text(m.Preference), plain)
	c.add(int64(m.Fallen), plain)
	c.flag(m.Ready, len(m.Standing) > 0)
	c.add(int64(len(m.Disowned)), plain)
	for _, d := range m.Disowned {
		c.uid(d.Lock)
		c.grouped(beatsOfLock, m.Identity, d.Beat)
	}
}

func (c *canon) session(name string, s stored) {
	c.add(c.text(name), plain)
	c.uid(s.version.UID)
	c.grouped(revisionsOfSession, name, s.version.Revision)
	if s.record == nil {
		c.add(-1, plain)
		return
	}
	c.sessionRecord(s.record)
}

// life adds a member's session, and what it knows of all sessions.
func (c *canon) life(w *world, i int, m *proc) {
	own, dir, seen := m.own(), m.dir(), m.beat()
	phase := own.int("phase")
	c.add(phase, plain)
	c.add(own.int("read"), plain)
	fallen := own.get("fallen").v
	doubtful := own.is("doubtful") && phase == joining
	c.flag(own.uint("inFlight") != 0, own.is("leaveSoon"), doubtful, dir.is("synced"), m.truth.ended, m.truth.shownSent == seen)
	published := own.member("published")
	c.flag(own.is("renewed"), own.uint("refused") == own.uint("beat"))
	c.says(published)
	c.says(own.member("member"))
	slot := own.text("slot")
	c.add(c.text(slot), plain)
	c.add(c.text(own.text("lost")), plain)
	c.uid(own.text("uid"))
	c.grouped(beatsOfSession, m.identity, own.uint("beat"))
	if doubtful {
		v := own.version("onto")
		c.uid(v.UID)
		c.grouped(revisionsOfSession, slot, v.Revision)
	}
	c.instant(own.instant("beatAt"), until)
	c.instant(own.instant("retryAt"), until)
	c.add(int64(fallen.Len()), plain)
	standDown := w.x.options.Timing.StandDown
	if fallen.Len() > 0 || published.Fallen > 0 {
		c.since(own.instant("joinedAt"), ticks(2*record.Doubled(standDown, 5)))
	}
	for n := range fallen.Len() {
		f := inside(fallen.Index(n))
		c.add(c.text(f.text("slot")), plain)
		c.add(f.int("count"), plain)
		c.grouped(beatsOfSession, f.text("holder"), f.uint("beat"))
	}
	last := record.Instant(0)
	if sent := own.get("sent").v; sent.Len() > 0 {
		last = inside(sent.Index(sent.Len() - 1)).instant("at")
	}
	c.instant(last, instant)
	c.instant(dir.instant("provenAt"), instant)
	c.instant(seen, instant)
	c.instant(m.truth.beatSent.Add(c.timing.Validity()), until)
	// Is it proven that an unknown owner is gone?
	s := m.state()
	c.flag(s != nil && s.Lock.Owner == machine.Unowned && seen >= m.ownerlessSince().Add(c.timing.ObserverWait(c.timing.LeaseDuration)))

	slots := dir.get("slots").v
	c.add(int64(slots.Len()), plain)
	for n := range slots.Len() {
		c.slot(m, own, inside(slots.Index(n).Elem()))
	}
}

// joining is the phase of a session that does not exist yet.
const joining = 1

func (m *proc) ownerlessSince() record.Instant { return look(&m.state().Lock).instant("since") }

// slot adds what a directory knows of one session.
func (c *canon) slot(m *proc, own, s private) {
	name, v, r := s.text("name"), s.version("version"), s.record("record")
	c.add(c.text(name), plain)
	c.uid(v.UID)
	c.grouped(revisionsOfSession, name, v.Revision)
	c.sessionRecord(r)
	c.flag(s.is("tampered"))
	c.instant(s.instant("at"), present)
	trust := machine.Trust(0)
	for i := range m.member.View().Peers {
		if p := &m.member.View().Peers[i]; p.Identity == r.Holder {
			trust = p.Trust
		}
	}
	c.add(int64(trust), plain)
	if r.Holder != "" {
		c.instant(s.instant("changedAt").Add(c.timing.ObserverWait(time.Duration(s.get("stated").int("duration")))), instant)
		if r.Member.Fallen > 0 {
			c.since(s.instant("bornAt"), ticks(record.Doubled(c.timing.StandDown, 5)))
		}
	}
	tried, next := false, int64(0)
	if e := own.get("ending").v.MapIndex(reflect.ValueOf(name)); e.IsValid() {
		tried, next = inside(e).version("onto") == v, inside(e).int("next")
	}
	c.flag(tried)
	c.add(next, until)
}

// request adds a request.
func (c *canon) request(m *proc, q *request) {
	c.add(c.text(q.name), plain)
	c.add(int64(q.phase), plain)
	c.flag(q.write != nil)
	switch {
	case q.ofLock() && q.write == nil:
		c.flag(m.state() != nil && q.sent > m.sighted())
		c.stored(q.stored)
		return
	case q.ofLock():
		c.ask(q, c.who)
		c.flag(slices.Contains(m.live, q.beat))
		c.since(q.sent, lease(c.timing))
		c.stored(q.stored)
		return
	}
	_, known := m.known(q.name)
	c.flag(!known && q.phase == committed && q.stored.version.Revision <= m.dir().uint("goneTo"))
	if q.write == nil {
		c.flag(q.phase == committed && q.sent > m.knownAt(q.name))
		if q.phase == committed {
			c.session(q.name, q.stored)
		}
		return
	}
	c.askSession(q)
	if q.phase == committed {
		c.grouped(revisionsOfSession, q.name, q.stored.version.Revision)
		c.uid(q.stored.version.UID)
	}
}

func (c *canon) askSession(q *request) {
	c.uid(q.replaces.UID)
	c.grouped(revisionsOfSession, q.name, q.replaces.Revision)
	c.sessionRecord(q.write)
}

// knownAt is when the member was last shown a session; zero for never.
func (m *proc) knownAt(name string) record.Instant {
	if s, known := m.known(name); known {
		return s.instant("at")
	}
	return 0
}

func (m *proc) known(name string) (private, bool) {
	slots := m.dir().get("slots").v
	for n := range slots.Len() {
		if s := inside(slots.Index(n).Elem()); s.text("name") == name {
			return s, true
		}
	}
	return private{}, false
}

// queued adds what a stream will show of sessions.
func (c *canon) queued(m *proc, q *shown) {
	if q.kind == lock.Listed {
		c.add(int64(len(q.sessions)), plain)
		for _, o := range q.sessions {
			c.shownSession(m, o.name, o.stored, q.sent)
		}
		slots := m.dir().get("slots").v
		for n := range slots.Len() {
			s := inside(slots.Index(n).Elem())
			if !slices.ContainsFunc(q.sessions, func(o kept) bool { return o.name == s.text("name") }) {
				c.flag(s.version("version").Revision > q.revision, s.instant("at") < q.sent)
			}
		}
		return
	}
	c.shownSession(m, q.name, q.stored, 0)
}

func (c *canon) shownSession(m *proc, name string, s stored, sent record.Instant) {
	c.add(c.text(name), plain)
	c.sight(m, m.sentAt(c.who, name, s))
	if known, is := m.known(name); is && s.version.Revision <= known.version("version").Revision {
		// Old news, except for what a list tells about the store.
		c.flag(true, s.version == known.version("version"), sent != 0 && known.instant("at") < sent)
		return
	}
	c.flag(false)
	c.session(name, s)
}

// pending adds the sending times of the member's own beats, stored or stray, that it may yet be shown.
func (c *canon) pending(w *world, i int, m *proc) {
	if m.member == nil {
		return
	}
	own, me := m.own(), m.identity
	slot := own.text("slot")
	c.sight(m, m.sentAt(me, slot, w.session(slot)))
	for _, s := range w.strays {
		if !s.ofLock() && s.write.Holder == me {
			c.sight(m, sentAt(own, s.write.Mark.Beat))
		}
	}
}
