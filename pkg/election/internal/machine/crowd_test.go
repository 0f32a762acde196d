package machine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// crowd are members and foreign electors that use a lock as they should, and strangers that do not. Members wait for whoever is at
// work, but believe a release that a stranger put back.
type crowd struct {
	*rand.Rand
	store  *environment // what is stored, and now
	actors []*actor
	// shared: foreign electors are among the actors; steals: they do not always wait.
	shared, steals bool
	// brief: foreign electors work for a short time after they took the lock, members that claimed it often leave after that, and
	// there are no strangers.
	brief   bool
	renewal record.Renewal // of members' locks
	past    []written
	// sessions are the members', by the names of their objects.
	sessions map[string]Session
}

type actor struct {
	name    string
	foreign bool
	works   record.Instant // until then
	// unseen: what it does until then, m1 cannot know of.
	unseen      record.Instant
	token       record.Token // of its term
	claims      bool         // it holds the lock, and waits for a foreign elector
	dead        bool
	beats       int
	transitions int            // of a foreign elector's tenure
	beat        record.Instant // when its session was renewed last
}

// written is a version of the lock, or, if sessions is set, of the sessions.
type written struct {
	entry
	at       record.Instant
	what     string
	sessions map[string]Session
	// stolen: a foreign elector took the lock while another actor was at work. copied: a stranger put back an earlier record.
	stolen, copied bool
}

const memberLease = 15 * time.Second

func newCrowd(r *rand.Rand) *crowd {
	c := &crowd{Rand: r, store: newEnvironment(nil), shared: r.IntN(3) > 0, renewal: record.RenewalRecord, sessions: map[string]Session{}}
	for _, name := range []string{"p1", "p2", "p3"} {
		c.actors = append(c.actors, &actor{name: name, beat: c.store.now})
		c.sessions["s-"+name] = Session{UID: "us-" + name, Holder: identity(name)}
	}
	if c.shared {
		c.actors = append(c.actors, &actor{name: "f-1", foreign: true}, &actor{name: "f-2", foreign: true})
	} else if r.IntN(2) == 0 {
		c.renewal = record.RenewalSession
	}
	return c
}

func one[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func (c *crowd) String() string {
	text := ""
	for _, w := range c.past {
		text += fmt.Sprintf("  %s %s: ", seconds(w.at), w.what)
		switch {
		case w.sessions != nil:
		case w.record == nil:
			text += at(w.version)
		default:
			text += fmt.Sprintf("%s: %s", at(w.version), content(w.record))
		}
		text += "\n"
	}
	return text
}

// put stores a version of the lock.
func (c *crowd) put(r *record.Record, what string) *written {
	c.store.write(r)
	c.past = append(c.past, written{entry: c.newest(), at: c.store.now, what: what})
	return &c.past[len(c.past)-1]
}

// newest is the newest version of the lock.
func (c *crowd) newest() entry { return entry{record: c.store.object, version: c.store.version} }

// silent says whether nobody has written the lock for so long.
func (c *crowd) silent(d time.Duration) bool {
	for _, w := range slices.Backward(c.past) {
		if w.sessions == nil {
			return c.store.now.Sub(w.at) >= d
		}
	}
	return true
}

// member is a member that is at work, and elector a foreign elector; nil for none.
func (c *crowd) member() *actor  { return c.atWork(c.actors[:3]) }
func (c *crowd) elector() *actor { return c.atWork(c.actors[3:]) }

func (c *crowd) atWork(of []*actor) *actor {
	for _, a := range of {
		if a.works > c.store.now {
			return a
		}
	}
	return nil
}

// act has somebody do something. It says whether the lock or the sessions changed.
func (c *crowd) act() bool {
	if len(c.past) > 0 && c.IntN(3) == 0 && !c.brief {
		return c.stranger()
	}
	a := one(c.Rand, c.actors)
	switch {
	case a.foreign:
		return c.poll(a)
	case a.dead:
		return false
	case c.IntN(4) == 0:
		return c.liveOrDie(a)
	case c.holds(a):
		return c.keep(a)
	}
	return c.takeOver(a)
}

// holds says whether the lock is that of the member's term or claim.
func (c *crowd) holds(a *actor) bool {
	r := c.store.object
	return holder(r) == a.name && r.Token == a.token && (a.claims || a.works > c.store.now)
}

// keep has a member renew or release its lock, or begin its term once all foreign electors have stopped.
func (c *crowd) keep(a *actor) bool {
	r, f := c.store.object, c.elector()
	switch {
	case a.works > c.store.now && c.IntN(4) == 0 && f == nil:
		c.put(c.made("free", a, arguments{"to": one(c.Rand, []string{"", "m1", "p1"})}), a.name+" releases")
		a.works, a.token = c.store.now, 0
		return true
	case r.ThroughSession():
		return false
	case a.claims && f == nil && c.member() == nil && c.brief && c.IntN(2) == 0:
		c.put(c.made("free", a, arguments{}), a.name+" leaves")
		a.claims, a.token = false, 0
		return true
	case a.claims && f == nil && c.member() == nil && c.IntN(2) == 0:
		c.begins(a, arguments{"token": c.version(), "transitions": strconv.Itoa(r.Transitions)})
		return true
	case a.claims:
		c.put(c.made("held", a, arguments{"claim": claimText(r.Claim), "token": strconv.Itoa(int(r.Token))}), a.name+" waits")
		return true
	}
	c.put(c.made("held", a, arguments{"token": strconv.Itoa(int(r.Token))}), a.name+" renews")
	a.works = c.store.now.Add(memberLease)
	return true
}

// takeOver has a member take the lock, if that is free, or nobody is at work and it has waited.
func (c *crowd) takeOver(a *actor) bool {
	r, f := c.store.object, c.elector()
	switch {
	case a.works > c.store.now:
		return false
	case r == nil:
		c.put(&record.Record{}, a.name+" creates")
		return true
	case r.Released():
	case c.member() != nil || holder(r) == "m1" || !c.silent(memberLease):
		return false
	case holder(r) != "" && r.ThroughSession() && !c.sessions[r.Mark.Session].Ended:
		return false
	}
	with := arguments{"token": c.version(), "transitions": strconv.Itoa(r.Transitions + 1)}
	if f == nil {
		c.begins(a, with)
		return true
	}
	with["claim"] = claimText(&record.Claim{Identity: f.name, Transitions: f.transitions, Duration: memberLease})
	a.token, a.claims = c.put(c.made("held", a, with), a.name+" claims").record.Token, true
	return true
}

func (c *crowd) begins(a *actor, with arguments) {
	a.token, a.claims = c.put(c.made("held", a, with), a.name+" takes").record.Token, false
	a.works, a.beat = c.store.now.Add(memberLease), c.store.now
}

// made is what a member writes.
func (c *crowd) made(kind string, a *actor, with arguments) *record.Record {
	a.beats++
	maps.Copy(with, arguments{"by": a.name, "session": "s-" + a.name, "beat": strconv.Itoa(a.beats)})
	if with["claim"] == "" {
		with["renewal"] = string(c.renewal)
	}
	return c.store.made(kind, with)
}

func (c *crowd) version() string { return strconv.FormatUint(c.store.version.Revision, 10) }

func claimText(c *record.Claim) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s/%d/%v", c.Identity, c.Transitions, c.Duration)
}

// liveOrDie renews a member's session, or ends it. If a record renews its lock, the member may live on without its session.
func (c *crowd) liveOrDie(a *actor) bool {
	name, now := "s-"+a.name, c.store.now
	o := c.sessions[name]
	a.dead = c.IntN(4) == 0
	switch {
	case o.Ended:
		a.dead = false
		return false
	case a.dead:
		o.Deaths = []record.Death{{Proof: record.ProofParent, Identity: identity(a.name), UID: o.UID, At: dawn}}
		a.works, a.claims = min(a.works, now), false
	case now.Sub(a.beat) < memberLease:
		a.beat = now
		if r := c.store.object; c.holds(a) && r.ThroughSession() {
			a.works = now.Add(memberLease)
		}
		return false // it changes nothing that m1 would see
	default:
		a.dead = c.renewal == record.RenewalSession
	}
	o.Ended = true
	c.sessions = maps.Clone(c.sessions)
	c.sessions[name] = o
	c.past = append(c.past, written{at: now, what: name + " ends", sessions: c.sessions})
	return true
}

// poll has a foreign elector look at the lock.
func (c *crowd) poll(a *actor) bool {
	r, now := c.store.object, c.store.now
	switch {
	case r != nil && a.works > now && (holder(r) == a.name && c.IntN(4) == 0 || a.works > a.unseen && c.IntN(12) == 0):
		// It is cancelled, and blanks the lock, whoever holds it. If it has not renewed for long, it gives up, and works on.
		w := c.put(c.store.made("released", arguments{}), a.name+" releases")
		if holder(r) != a.name || w.record.Renewed.Sub(r.Renewed) < memberLease*2/5 {
			a.works = now
		}
		return true
	case r == nil, r.Holder == "", r.Holder == a.name, c.silent(r.Duration), c.steals && c.IntN(4) == 0:
	default:
		return false
	}
	works := a.works
	a.works = 0
	stolen := c.member() != nil || c.elector() != nil || holder(r) == "m1"
	w := c.put(c.store.made("foreign", arguments{"by": a.name}), a.name+" holds")
	w.stolen, a.transitions = stolen, w.record.Transitions
	a.works = max(works, now.Add(c.workTime()))
	return true
}

// briefly is the shortest time for which a foreign elector works.
const briefly = 12 * time.Second

// workTime is for how long a foreign elector works after it took the lock.
func (c *crowd) workTime() time.Duration {
	if c.brief {
		return briefly
	}
	return one(c.Rand, []time.Duration{briefly, 22 * time.Second, 52 * time.Second})
}

// stranger has a stranger write the lock. With bootstrap: immediate he never empties or removes it, since members may then lead at once.
func (c *crowd) stranger() bool {
	r := c.store.object
	what := one(c.Rand, []string{"back", "back", "back", "empty", "delete", "label", "unreadable", "blank", "duration", "token"})
	back := one(c.Rand, c.past)
	if c.IntN(2) == 0 {
		back = one(c.Rand, c.past[max(0, len(c.past)-4):])
	}
	switch {
	case what == "back" && back.record == nil:
		return false
	case c.store.cfg.Bootstrap == BootstrapImmediate && (what == "empty" || what == "delete" || what == "back" && back.record.Untouched()):
		return false
	case what == "back":
		c.putBack(back.entry)
		return true
	case r == nil, r.Mark == nil && (what == "duration" || what == "token"):
		return false
	}
	edited := *r
	switch what {
	case "delete":
		c.put(nil, "a stranger deletes")
		return true
	case "empty":
		edited = record.Record{}
	case "unreadable":
		edited.Unreadable = "json"
	case "blank":
		edited.Holder = ""
	case "duration":
		m := *r.Mark
		edited.Duration, m.Duration, edited.Mark = time.Second, time.Second, &m
	case "token":
		edited.Token /= 2
	}
	c.put(&edited, "a stranger: "+what)
	return true
}

// putBack has a stranger put an earlier version back.
func (c *crowd) putBack(e entry) {
	r := *e.record
	c.put(&r, "a stranger puts "+at(e.version)+" back").copied = true
}

// putBackOf has a stranger put the member's last record back.
func (c *crowd) putBackOf(member string) {
	for _, w := range slices.Backward(c.past) {
		if holder(w.record) == member {
			c.putBack(w.entry)
			return
		}
	}
}

// holder says who holds a lock by its record; "" for nobody.
func holder(r *record.Record) string {
	if r == nil || r.Unreadable != "" || record.OurForm(r.Holder) && !r.Bound() {
		return ""
	}
	return short(r.Holder)
}
