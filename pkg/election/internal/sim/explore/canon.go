package explore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// word is one value of a canonical form under construction.
type word struct {
	value int64
	class class
	reach int16 // for the class since
}

// canon makes canonical forms.
type canon struct {
	timing  record.Timing
	horizon int
	plans   map[reflect.Type][]plan
	strings map[string]int64
	seeds   [2]maphash.Seed

	// Parts of one form; kept for reuse.
	words  []word
	bytes  []byte
	orders []int64
	beats  []int64
	turns  []int64
	olds   []int64
	// sessions says that sessions renew the lock.
	sessions bool
	// who is the member whose beats are being added, and wrote is the one that wrote the record that is being added.
	who, wrote string
	// revisions are those of the lock in the world whose form is made.
	revisions []uint64
}

// key is a hash of a canonical form. Two forms share a key with a probability of 2^-128.
type key [2]uint64

func newCanon(t record.Timing, r record.Renewal) *canon {
	return &canon{
		timing: t, sessions: r == record.RenewalSession, horizon: horizon(t, r), plans: map[reflect.Type][]plan{}, strings: map[string]int64{},
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

func ticks(d time.Duration) int { return int((d + tick - 1) / tick) }

func (c *canon) text(s string) int64 {
	n, ok := c.strings[s]
	if !ok {
		n = int64(len(c.strings))
		c.strings[s] = n
	}
	return n
}

func (c *canon) add(v int64, k class) { c.words = append(c.words, word{value: v, class: k}) }

func (c *canon) flag(set ...bool) {
	n := int64(0)
	for i, b := range set {
		if b {
			n |= 1 << i
		}
	}
	c.add(n, plain)
}

func (c *canon) planOf(t reflect.Type) []plan {
	plans, ok := c.plans[t]
	if ok {
		return plans
	}
	for i := range t.NumField() {
		f := t.Field(i)
		p := plan{index: i, field: classify(t, f), kind: f.Type.Kind()}
		if p.field.class == leftOut || p.field.sessions && !c.sessions {
			continue
		}
		if p.field.reach != nil {
			p.reach = p.field.reach(c.timing)
		}
		plans = append(plans, p)
	}
	c.plans[t] = plans
	return plans
}

// walk adds a struct, as part of the state of m.
func (c *canon) walk(v reflect.Value, m *proc) {
	if v.Type() == reflect.TypeFor[record.Record]() {
		r := (*record.Record)(v.Addr().UnsafePointer())
		c.leaver(r)
		c.wrote = writerOf(r)
	}
	if v.Type() == reflect.TypeFor[record.Mark]() {
		defer func(who string) { c.who = who }(c.who)
		if c.who = v.Field(0).String(); c.who == "" { // the identity; a release's mark has none
			c.who = c.wrote
		}
	}
	for _, p := range c.planOf(v.Type()) {
		if p.field.when != nil && m != nil && !p.field.when(m.state()) {
			c.add(0, plain)
			continue
		}
		if p.field.unless != nil && m != nil && p.field.unless(v.Field(p.index), m.state()) {
			c.add(-1, plain)
			continue
		}
		c.value(v.Field(p.index), p, m)
	}
}

func (c *canon) value(v reflect.Value, p plan, m *proc) {
	switch v.Kind() {
	case reflect.Struct:
		c.walk(v, m)
	case reflect.Pointer:
		if v.IsNil() {
			c.add(-1, plain)
			return
		}
		c.add(1, plain)
		c.walk(v.Elem(), m)
	case reflect.Slice:
		if m != nil && v.Type().Elem().Name() == "write" {
			c.writes(v, p, m)
			return
		}
		c.add(int64(v.Len()), plain)
		for i := range v.Len() {
			c.value(v.Index(i), p, m)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && isUID(v.String()) {
			c.uid(v.String())
		} else {
			c.add(c.text(v.String()), plain)
		}
	case reflect.Bool:
		c.flag(v.Bool())
	case reflect.Uint8, reflect.Uint32: // the hash of a name is not renamed with it, but nobody forces handovers here
		c.add(int64(v.Uint()), plain) // #nosec G115 -- small
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := v.Int()
		if p.field.class == count {
			n = min(n, 6)
		}
		k := p.field.class
		if p.field.as != nil && m != nil {
			k = p.field.as(c, m)
			c.add(int64(k), plain)
		}
		c.words = append(c.words, word{value: n, class: k, reach: int16(p.reach)}) // #nosec G115 -- small
	case reflect.Uint64:
		if p.field.class == beat {
			c.grouped(beatsOfLock, c.who, v.Uint())
			return
		}
		c.add(int64(v.Uint()), p.field.class) // #nosec G115 -- small
	case reflect.Float64:
		c.add(int64(math.Float64bits(v.Float())), plain) // #nosec G115 -- bits
	default:
		panic(fmt.Sprintf("explore: %v: a value of unknown kind; see fields.go", v.Type()))
	}
}

// isUID says whether s is a uid, or empty.
func isUID(s string) bool {
	return s == "" || len(s) == 2 && 'A' <= s[0] && s[0] < 'A'+letters && '0' < s[1] && s[1] <= '9'
}

// uid adds a uid, which is compared only with other uids of the same object.
func (c *canon) uid(s string) {
	if s == "" {
		c.add(0, plain)
	} else {
		c.add(int64(uids+int(s[0]))<<32|int64(s[1]), beat)
	}
}

// ask adds a write to the lock by the identity who.
func (c *canon) ask(q *request, who string) {
	c.add(int64(q.purpose), plain)
	c.grouped(beatsOfLock, who, q.beat)
	c.version(q.replaces)
	c.record(q.write)
}

// age adds the true time since at, up to the two ticks that matter to moves.
func (c *canon) age(w *world, at int) { c.add(int64(min(w.now-at, 2)), plain) }

// proc adds a process; its instants are not yet relative to now.
func (c *canon) proc(w *world, i int, m *proc) {
	c.who = m.identity
	c.flag(m.cut, m.streams[0].stalled, m.streams[1].stalled, m.paused, m.dead, m.left, m.late, m.resigned, m.work.on, m.work.asked, m.work.expired)
	c.add(int64(m.incarnation<<4+m.lag), plain)
	c.add(int64(m.orphan), until)
	c.add(c.text(m.preferred), plain)
	c.instant(m.again, due)
	c.heritage(&m.heritage)
	c.add(int64(m.work.until), until)
	c.add(int64(m.work.token), order) // #nosec G115 -- small
	c.add(int64(m.taken), order)      // #nosec G115 -- small
	if m.member == nil {
		return
	}
	s := m.state()
	if c.flag(s != nil); s != nil {
		c.walk(reflect.ValueOf(s).Elem(), m)
	}
	c.driver(w, m)
	c.life(w, i, m)
	c.add(int64(len(m.requests)), plain)
	for n := range m.requests {
		c.request(m, &m.requests[n])
	}
	for store, from := range m.streams {
		c.add(int64(len(from.queue)), plain)
		for n := range from.queue {
			q := &from.queue[n]
			c.add(int64(q.kind), plain)
			if q.name == "" {
				revision := q.stored.version.Revision
				if q.stored.record == nil {
					revision = max(revision, q.revision) // an object that a list lacks is absent as of the list's revision
				}
				c.flag(s != nil && q.sent > m.sighted(), s != nil && revision > s.Lock.Version.Revision)
				c.stored(q.stored)
			}
			if q.name != "" || q.kind == lock.Listed && store == int(member.Own.ID) {
				c.queued(m, q)
			}
		}
	}
}

// streamed is the version of the lock that the member's stream showed last.
func (m *proc) streamed() record.Version {
	v := reflect.ValueOf(&m.state().Lock).Elem().FieldByName("streamed")
	return record.Version{UID: v.FieldByName("UID").String(), Revision: v.FieldByName("Revision").Uint()}
}

// sighted is when the member last saw the lock.
func (m *proc) sighted() record.Instant {
	return record.Instant(reflect.ValueOf(&m.state().Lock).Elem().FieldByName("at").Int())
}

// writes adds the writes that await their outcome. Of writes that will certainly never be stored, whatever
// their writer believes, it adds only the distinct versions that they replace, by which the writer drops
// them. Their number matters only to a machine that runs out of room for them, which is not explored.
func (c *canon) writes(v reflect.Value, p plan, m *proc) {
	doomed := map[record.Version]bool{}
	for i := range v.Len() {
		w := v.Index(i)
		if w.FieldByName("unknown").Bool() && !slices.Contains(m.live, w.FieldByName("beat").Uint()) {
			onto := w.FieldByName("onto")
			o := record.Version{UID: onto.FieldByName("UID").String(), Revision: onto.FieldByName("Revision").Uint()}
			if !doomed[o] {
				doomed[o] = true
				c.add(-1, plain)
				c.version(o)
			}
			continue
		}
		c.add(1, plain)
		c.value(w, p, m)
	}
	c.add(0, plain)
}

// ages adds the ages of a member's requests and stream events. They are in true time, so they are not among
// the member's own words.
func (c *canon) ages(w *world, m *proc) {
	for _, q := range m.streams[w.x.election.Locks.ID].queue {
		c.age(w, q.at)
	}
	for i := range m.requests {
		c.age(w, m.requests[i].at)
	}
}

// key makes the canonical form of a world. The same moves, with the same consequences, follow from two worlds
// with the same form: see the package's doc.
func (c *canon) key(w *world) key {
	c.orders, c.beats, c.turns, c.bytes = c.orders[:0], c.beats[:0], c.turns[:0], c.bytes[:0]
	c.revisions = w.revisions
	for i, m := range w.procs {
		if m.words == nil {
			c.words = c.words[:0]
			c.proc(w, i, m)
			m.words = slices.Clone(c.words)
		}
	}
	c.words = c.words[:0]
	c.add(int64(w.budget), plain)
	c.add(c.text(w.preferred), plain)
	c.add(int64(w.highest), order) // #nosec G115 -- small
	c.stored(w.stored)
	for _, o := range w.sessions {
		c.session(o.name, o.stored)
	}
	for _, m := range w.procs {
		c.ages(w, m)
	}
	c.add(int64(len(w.strays)), plain)
	for _, s := range w.strays {
		c.add(int64(s.proc<<4+s.incarnation), plain)
		if !s.ofLock() {
			c.add(c.text(s.name), plain)
			c.askSession(&s.request)
			continue
		}
		c.ask(&s.request, identity(s.proc, s.incarnation))
	}
	c.gather(c.words)
	for _, m := range w.procs {
		c.gather(m.words)
	}
	c.orders, c.beats, c.turns = sorted(c.orders), sorted(c.beats), sorted(c.turns)

	c.write(c.words, 0)
	for i, m := range w.procs {
		now := w.local(i)
		c.words = c.words[:0]
		c.pending(w, i, m)
		c.olds = c.olds[:0]
		c.old(m.words, now)
		c.old(c.words, now)
		c.olds = sorted(c.olds)
		c.write(m.words, now)
		c.write(c.words, now)
	}
	return key{maphash.Bytes(c.seeds[0], c.bytes), maphash.Bytes(c.seeds[1], c.bytes)}
}

// old collects the instants beyond the horizon.
func (c *canon) old(words []word, now record.Instant) {
	for _, x := range words {
		if x.class == instant && x.value != 0 && fromNow(x.value, now) < -c.horizon {
			c.olds = append(c.olds, x.value)
		}
	}
}

// floor is the lock's newest revision that is not above the given revision or token. A token is the newest
// revision that its member had seen, of sessions too; all numbers between two changes of the lock act alike.
func (c *canon) floor(v int64) int64 {
	if v == 0 {
		return 0
	}
	n, exact := slices.BinarySearch(c.revisions, uint64(v)) // #nosec G115 -- small
	if exact || n == 0 {
		return v
	}
	return int64(c.revisions[n-1]) // #nosec G115 -- small
}

func (c *canon) gather(words []word) {
	for _, x := range words {
		switch x.class {
		case order:
			c.orders = append(c.orders, c.floor(x.value))
		case beat:
			c.beats = append(c.beats, x.value)
		case turn:
			c.turns = append(c.turns, x.value)
		}
	}
}

func sorted(list []int64) []int64 {
	slices.Sort(list)
	return slices.Compact(list)
}

// fromNow is the time from now to at, in ticks. A part of a tick counts as a whole tick in the future, and
// as none in the past: a clock that shows only whole ticks cannot tell them apart.
func fromNow(at int64, now record.Instant) int {
	d := time.Duration(at - int64(now))
	if d > 0 {
		return int((d + tick - 1) / tick)
	}
	return int(d / tick)
}

const (
	never   = math.MinInt16
	longAgo = math.MinInt16 + 1
	ancient = math.MinInt16 + 2 // and above, by order
)

// write appends words to the form, with instants relative to now.
func (c *canon) write(words []word, now record.Instant) {
	for _, x := range words {
		v := x.value
		switch x.class {
		case order:
			v = c.rank(c.orders, c.floor(v))
		case turn:
			v = c.rank(c.turns, v)
		case beat:
			v = c.beatRank(v)
		case instant, since, until, due, present:
			v = int64(c.seen(x, now))
		}
		c.bytes = binary.AppendVarint(c.bytes, v)
	}
}

func (c *canon) rank(list []int64, v int64) int64 {
	if v == 0 {
		return 0
	}
	n, _ := slices.BinarySearch(list, v)
	return int64(n + 1)
}

// beatRank is a beat's incarnation and its rank among the beats of that incarnation.
func (c *canon) beatRank(v int64) int64 {
	if v == 0 {
		return 0
	}
	n, _ := slices.BinarySearch(c.beats, v)
	first, _ := slices.BinarySearchFunc(c.beats, v>>32<<32, cmp.Compare[int64])
	return v>>32<<8 + int64(n-first)
}

func (c *canon) seen(x word, now record.Instant) int {
	if x.value == 0 {
		return never
	}
	d := fromNow(x.value, now)
	switch x.class {
	case until:
		if d <= 0 {
			return never
		}
	case present:
		if d < 0 {
			return longAgo
		}
	case due:
		if d <= 0 {
			return longAgo
		}
	case since:
		if d <= -int(x.reach)-1 {
			return longAgo
		}
	case instant:
		if d < -c.horizon {
			n, _ := slices.BinarySearch(c.olds, x.value)
			return ancient + n
		}
	}
	return d
}
