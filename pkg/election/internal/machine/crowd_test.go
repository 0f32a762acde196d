package machine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// crowd are members and foreign electors that use a lock as they should, and strangers that do not. Members never begin while
// somebody is at work.
type crowd struct {
	*rand.Rand
	e      *environment // what is stored, and now
	actors []*actor
	// shared: foreign electors are among the actors; steals: they do not always wait. by is what renews members' locks.
	shared bool
	steals bool
	by     record.Renewal
	of     []written
	// sessions are the members', by the names of their objects.
	sessions map[string]Session
}

type actor struct {
	name    string
	foreign bool
	works   record.Instant // until then
	token   record.Token   // of its term
	claims  bool           // it holds the lock, and waits for a foreign elector
	beat    record.Instant // when its session was renewed last
}

// written is a version of the lock, or, if shown is set, of the sessions.
type written struct {
	entry
	at    record.Instant
	who   string
	shown map[string]Session
	// stolen: a foreign elector took the lock while another actor was at work. copied: a stranger put back an earlier record.
	stolen, copied bool
}

const (
	memberLease  = 15 * time.Second
	foreignLasts = 12 * time.Second // a foreign elector works for so long after its last renewal
)

func newCrowd(r *rand.Rand) *crowd {
	c := &crowd{Rand: r, e: newEnvironment(nil), shared: r.IntN(3) > 0, by: record.RenewalRecord, sessions: map[string]Session{}}
	for _, name := range []string{"p1", "p2", "p3"} {
		c.actors = append(c.actors, &actor{name: name, beat: c.e.now})
		c.sessions["s-"+name] = Session{UID: "us-" + name, Holder: identity(name)}
	}
	if c.shared {
		c.actors = append(c.actors, &actor{name: "f-1", foreign: true}, &actor{name: "f-2", foreign: true})
	} else if r.IntN(2) == 0 {
		c.by = record.RenewalSession
	}
	return c
}

func one[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func (c *crowd) String() string {
	text := ""
	for _, w := range c.of {
		text += fmt.Sprintf("  %s %s: ", seconds(w.at), w.who)
		switch {
		case w.shown != nil:
		case w.record == nil:
			text += at(w.version)
		default:
			text += fmt.Sprintf("%s: %s", at(w.version), content(w.record))
		}
		text += "\n"
	}
	return text
}

// store stores a version of the lock.
func (c *crowd) store(r *record.Record, who string) *written {
	c.e.write(r)
	c.of = append(c.of, written{entry: c.e.history[c.e.version.Revision], at: c.e.now, who: who})
	return &c.of[len(c.of)-1]
}

// stored is the newest version of the lock.
func (c *crowd) stored() entry { return entry{record: c.e.object, version: c.e.version} }

// silent says whether nobody has written the lock for so long.
func (c *crowd) silent(d time.Duration) bool {
	for _, w := range slices.Backward(c.of) {
		if w.shown == nil {
			return c.e.now.Sub(w.at) >= d
		}
	}
	return true
}

// atWork is an actor that works; nil for none.
func (c *crowd) atWork(but *actor, foreign bool) *actor {
	for _, a := range c.actors {
		if a != but && a.foreign == foreign && a.works > c.e.now {
			return a
		}
	}
	return nil
}

// act has somebody do something. It says whether there was anything to do.
func (c *crowd) act(leads bool) bool {
	if len(c.of) > 0 && c.IntN(3) == 0 {
		return c.stranger()
	}
	a := one(c.Rand, c.actors)
	switch {
	case a.foreign:
		return c.poll(a)
	case c.IntN(4) == 0:
		return c.liveOrDie(a)
	}
	return !c.sessions["s-"+a.name].Ended && c.member(a, leads)
}

// member has a member renew, release or take the lock. It waits for everybody who is at work, and for m1 if that leads.
func (c *crowd) member(a *actor, leads bool) bool {
	r, now := c.e.object, c.e.now
	holds := r != nil && r.Bound() && r.Holder == identity(a.name) && r.Token == a.token && r.Unreadable == ""
	f := c.atWork(nil, true)
	with := arguments{"by": a.name, "renewal": string(c.by), "session": "s-" + a.name}
	switch {
	case holds && a.works > now && c.IntN(4) == 0 && f == nil:
		with["to"] = one(c.Rand, []string{"", "m1", "p1"})
		c.store(c.e.made("free", with), a.name+" releases")
		a.works, a.token = now, 0
		return true
	case holds && a.works > now:
		if r.ThroughSession() {
			return false
		}
		c.store(c.e.made("held", with), a.name+" renews")
		a.works = now.Add(memberLease)
		return true
	case a.works > now, leads, c.atWork(a, false) != nil, r != nil && !r.Released() && !c.silent(memberLease), holds && !a.claims:
		return false
	case r == nil:
		c.store(&record.Record{}, a.name+" creates")
		return true
	case r.ThroughSession() && r.Bound() && r.Holder != "" && !c.sessions[r.Mark.Session].Ended:
		return false
	}
	if f != nil {
		with["claim"] = f.name + "/1/15s"
	}
	with["transitions"] = strconv.Itoa(r.Transitions + 1)
	if holds {
		with["transitions"] = strconv.Itoa(r.Transitions)
	}
	with["token"] = strconv.Itoa(int(c.e.version.Revision))
	made := c.e.made("held", with)
	c.store(made, a.name+" takes")
	a.token, a.claims = made.Token, f != nil
	if !a.claims {
		a.works, a.beat = now.Add(memberLease), now
	}
	return true
}

// liveOrDie renews a member's session, or ends it. A member may live on without its session if it renews its lock's record.
func (c *crowd) liveOrDie(a *actor) bool {
	name, now := "s-"+a.name, c.e.now
	o := c.sessions[name]
	dies := c.IntN(3) == 0
	switch {
	case o.Ended:
		return false
	case !dies && now.Sub(a.beat) < memberLease:
		a.beat = now
		if r := c.e.object; a.works > now && holder(r) == a.name && r.ThroughSession() && r.Token == a.token {
			a.works = now.Add(memberLease)
		}
		return false // it changes nothing that m1 would see
	case dies:
		o.Deaths = []record.Death{{Proof: record.ProofParent, Identity: identity(a.name), At: dawn}}
		a.works = min(a.works, now)
	}
	o.Ended = true
	c.sessions = maps.Clone(c.sessions)
	c.sessions[name] = o
	c.of = append(c.of, written{at: now, who: name + " ends", shown: c.sessions})
	return true
}

// poll has a foreign elector look at the lock.
func (c *crowd) poll(a *actor) bool {
	r, now := c.e.object, c.e.now
	switch {
	case r != nil && r.Holder == a.name && a.works > now && c.IntN(4) == 0:
		c.store(c.e.made("released", arguments{}), a.name+" releases")
		a.works = now
		return true
	case r == nil, r.Holder == "", r.Holder == a.name, c.silent(r.Duration), c.steals && c.IntN(4) == 0:
	default:
		return false
	}
	stolen := c.atWork(a, true) != nil || c.atWork(a, false) != nil
	c.store(c.e.made("foreign", arguments{"by": a.name}), a.name+" holds").stolen = stolen
	a.works = now.Add(foreignLasts)
	return true
}

// stranger has a stranger write the lock. Where the lock is led at once once it is gone (bootstrap: immediate), he does not remove it.
func (c *crowd) stranger() bool {
	r := c.e.object
	what := one(c.Rand, []string{"back", "back", "back", "empty", "delete", "label", "unreadable", "blank", "duration", "token"})
	back := one(c.Rand, c.of)
	switch {
	case what == "back" && back.record == nil:
		return false
	case c.e.cfg.Bootstrap == BootstrapImmediate && (what == "empty" || what == "delete" || what == "back" && back.record.Untouched()):
		return false
	case what == "back":
		edited := *back.record
		c.store(&edited, "a stranger puts "+at(back.version)+" back").copied = true
		return true
	case r == nil, r.Mark == nil && (what == "duration" || what == "token"):
		return false
	}
	edited := *r
	who := "a stranger: " + what
	switch what {
	case "delete":
		c.store(nil, who)
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
	c.store(&edited, who)
	return true
}

// holder says who holds a lock by its record, "" for nobody.
func holder(r *record.Record) string {
	if r == nil || r.Unreadable != "" || record.OurForm(r.Holder) && !r.Bound() {
		return ""
	}
	return short(strings.TrimSpace(r.Holder))
}
