package machine

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// environment is one machine, the store that it writes to, and the clock.
type environment struct {
	out   io.Writer
	cfg   Config
	state State
	now   record.Instant
	wake  record.Instant
	// object and version are what is stored; object is nil when nothing is.
	object  *record.Record
	version record.Version
	uids    int
	// history is what was stored, by revision.
	history map[uint64]entry
	// pending is the write that waits for its reply.
	pending *Write
	asked   record.Instant
	// stored is the version of the pending write once it was committed.
	stored  record.Version
	content *record.Record
	readAt  record.Instant
	jitter  float64
	peers   []Peer
	// sessions are the session objects that the directory shows.
	sessions map[string]Session
}

type entry struct {
	record  *record.Record
	version record.Version
}

// startOfTime is the instant at which every transcript begins.
const startOfTime = record.Instant(100 * time.Second)

func newEnvironment(out io.Writer) *environment {
	return &environment{out: out, now: startOfTime, version: record.Version{Revision: 1}, jitter: 0.5, history: map[uint64]entry{}}
}

// identity makes a member's identity of a short name. A name with a dash is a foreign elector's and stays
// as it is.
func identity(name string) string {
	if name == "" || strings.Contains(name, "-") {
		return name
	}
	return record.NewIdentity(name, 0)
}

func short(identity string) string { return strings.TrimSuffix(identity, "_00000000") }

func seconds(at record.Instant) string {
	return strconv.FormatFloat(time.Duration(at).Seconds(), 'f', -1, 64) + "s"
}

// arguments are the key=value words of a command; a word without "=" counts as true.
type arguments map[string]string

func (a arguments) duration(key string, otherwise time.Duration) time.Duration {
	v, ok := a[key]
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		panic(err)
	}
	return d
}

func (a arguments) number(key string, otherwise int) int {
	v, ok := a[key]
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		panic(err)
	}
	return n
}

func (a arguments) text(key, otherwise string) string {
	if v, ok := a[key]; ok {
		return v
	}
	return otherwise
}

// seeBeat shows the machine a beat of our session. The next one counts as late from then on, unless the
// transcript says otherwise.
func (e *environment) seeBeat(uid string, sent record.Instant) {
	b := &e.cfg.Beat
	if e.now >= b.validUntil(e.cfg.Timing) {
		b.Since = e.now
	}
	b.Session, b.UID, b.Sent, b.Late = "s-m1", uid, max(b.Sent, sent), true
}

// step gives the machine an event and prints what follows.
func (e *environment) step(event Event) {
	before := e.state
	after, actions := Step(e.cfg, before, e.now, event)
	e.state = after
	for _, a := range actions {
		fmt.Fprintf(e.out, "  %s\n", describe(a))
		switch a := a.(type) {
		case Write:
			if e.pending != nil {
				panic("two writes in flight")
			}
			e.pending, e.asked, e.stored = &a, e.now, record.Version{}
		case Read:
			e.readAt = e.now
		case WakeAt:
			e.wake = a.At
		}
	}
	fmt.Fprintf(e.out, "  = %s\n", e.summary())
}

func (e *environment) summary() string {
	s := &e.state
	text := fmt.Sprintf("%s: %s, lock ", seconds(e.now), s.Role)
	if !s.Lock.Seen {
		return text + "unseen"
	}
	text += s.Lock.Owner.String()
	if s.Lock.Version != (record.Version{}) {
		text += " at " + at(s.Lock.Version)
	}
	if s.Role == Leading {
		text += fmt.Sprintf(", token %d until %s", s.Term.Token, seconds(s.Term.Deadline))
		if s.ValidUntil() < s.Term.Deadline {
			text += fmt.Sprintf(", valid until %s", seconds(s.ValidUntil()))
		}
	}
	if s.Role == Draining && s.Drain.Lost {
		text += ", lost"
	}
	return text
}

func at(v record.Version) string {
	if v.IsZero() {
		return "nothing"
	}
	return v.UID + "@" + strconv.FormatUint(v.Revision, 10)
}

// exchange gives the member its election anew; under another name if one is given.
func (e *environment) exchange(name string) {
	if name != "" {
		e.cfg.Member.Identity = identity(name)
	}
	e.state = Continued(e.state.LastBeat(), record.Disowned{}, e.state.Unshown(e.cfg, e.now))
	e.pending, e.wake = nil, 0
}

// configure reads the arguments of `member`.
func (e *environment) configure(name string, a arguments) {
	timing, err := record.Profile(a.text("timing", "default"))
	if err != nil {
		panic(err)
	}
	timing.MinHold = a.duration("minHold", timing.MinHold)
	timing.PreemptDelay = a.duration("preemptDelay", timing.PreemptDelay)
	e.cfg = Config{
		Election:  "work",
		Group:     "edge",
		Member:    member(name, a),
		Timing:    timing,
		Policy:    priority.RevisionLocation{},
		Bootstrap: BootstrapWait,
	}
	if a.text("bootstrap", "wait") == "immediate" {
		e.cfg.Bootstrap = BootstrapImmediate
	}
	if d := a.duration("notBefore", 0); d != 0 {
		e.cfg.NotBefore = record.Instant(d)
	}
	switch a.text("policy", "") {
	case "none":
		e.cfg.Policy = priority.None{}
	case "weight":
		e.cfg.Policy = priority.By(priority.ByWeight)
	case "within":
		e.cfg.Policy = priority.Within(e.cfg.Member.Revision, e.cfg.Policy)
	case "chain":
		e.cfg.Policy = priority.By(priority.ByPreferred, priority.ByWeight)
	}
	switch a.text("sharing", "no") {
	case "client-go":
		e.cfg.Foreign.Sharing = SharedWithClientGo
	case "istio":
		e.cfg.Foreign.Sharing = SharedWithIstio
	}
	e.cfg.Foreign.Wait = a.duration("foreignWait", 0)
	e.cfg.Range = a.text("range", "") == "true"
	e.cfg.Inner = a.text("inner", "") == "true"
	if d := a.duration("failopen", 0); d != 0 {
		e.cfg.Outage = Outage{Mode: OutageFailOpen, For: d}
	}
	e.cfg.OnDeath = OnDeath(a.text("onDeath", "proof"))
	e.cfg.Renewal = record.Renewal(a.text("renewal", "record"))
	switch a.text("sight", "with") {
	case "apart":
		e.cfg.Sight = ApartFromSessions
	case "without":
		e.cfg.Sight = WithoutSessions
	}
	e.cfg.Others = record.Bounds{LeaseDuration: a.duration("othersLease", 0), Drift: float64(a.number("othersPercent", 0)) / 100}
	e.cfg.LongestEver = a.duration("longestEver", 0)
	e.cfg.Unpublished = a.text("unpublished", "") == "true"
	e.cfg.ProvenAt = record.Instant(a.duration("provenAt", 0))
	e.state = Initial()
	e.cfg.Preferred, e.cfg.Digest = record.Preferred{State: record.PreferredNotSynced}, "d"
	e.state.writes.last = uint64(a.number("beat", 0))
	e.pending, e.wake = nil, 0
}

func member(name string, a arguments) record.Member {
	m := record.Member{
		Identity:   identity(name),
		Revision:   a.text("revision", "stable"),
		Location:   record.Location(a.text("location", "local")),
		Weight:     a.number("weight", 0),
		Ready:      a.text("ready", "true") == "true",
		Preference: a.text("preference", "d"),
		Config:     a.text("config", "c1"),
	}
	if a.text("standing", "good") != "good" {
		m.Standing = []string{"work"}
	}
	return m
}

// setPeer puts a peer in the directory, in place of an earlier one with the same identity.
func (e *environment) setPeer(p Peer) {
	e.peers = slices.DeleteFunc(slices.Clone(e.peers), func(o Peer) bool { return o.Identity == p.Identity })
	e.peers = append(e.peers, p)
}

// session changes what the directory shows of a session object. Its holder is the member in its name,
// s-MEMBER, unless the transcript says another.
func session(e *environment, name string, a arguments) {
	shown := maps.Clone(e.sessions)
	if shown == nil {
		shown = map[string]Session{}
	}
	member, _ := strings.CutPrefix(name, "s-")
	shown[name] = Session{UID: a.text("uid", "us-"+member), Holder: identity(a.text("holder", member)), Ended: a["ended"] == "true"}
	if n := a.number("disowned", 0); n != 0 {
		o := shown[name]
		o.Disowned = []record.Disowned{{Lock: a.text("lock", e.version.UID), Beat: uint64(n)}}
		shown[name] = o
	}
	if at := a.duration("robbed", 0); at != 0 {
		o := shown[name]
		o.Robbed = []Robbed{{identity(member), record.Instant(at)}}
		shown[name] = o
	}
	if a["died"] != "" {
		o := shown[name]
		o.Deaths = []record.Death{
			{Proof: record.ProofParent, Identity: identity("p9"), UID: o.UID, At: dawn},
			{Proof: record.Proof(a.text("proof", "parent")), Identity: identity(member), UID: o.UID, At: dawn.Add(a.duration("died", 0))},
		}
		if a["proved"] == "false" {
			o.Deaths[1].UID = ""
		}
		shown[name] = o
	}
	for i := range a.number("others", 0) {
		o := shown[name]
		o.Deaths = append(o.Deaths, record.Death{Proof: record.ProofParent, Identity: identity(fmt.Sprintf("q%d", i)), UID: o.UID, At: dawn})
		shown[name] = o
	}
	if a["gone"] == "true" {
		delete(shown, name)
	}
	e.sessions = shown
	if a["later"] != "true" {
		e.showDirectory()
	}
}

func (e *environment) showDirectory() {
	e.step(DirectoryChanged{View: &View{Peers: e.peers, Sessions: e.sessions}})
}

// write stores what another writer wrote.
func (e *environment) write(r *record.Record) {
	if e.object == nil && r != nil {
		e.uids++
		e.version.UID = fmt.Sprintf("u%d", e.uids)
	}
	if r == nil {
		e.version.UID = ""
	}
	e.object = r
	e.version.Revision++
	e.history[e.version.Revision] = entry{record: r, version: e.version}
}

// commit stores the pending write if its condition holds.
func (e *environment) commit() {
	if e.pending == nil {
		panic("no write is in flight")
	}
	if e.stored != (record.Version{}) {
		return
	}
	held := e.version
	if e.object == nil {
		held = record.Version{}
	}
	if held != e.pending.If {
		panic(fmt.Sprintf("the write is onto %s, but %s is stored", at(e.pending.If), at(held)))
	}
	e.version.Revision = max(e.version.Revision, e.cfg.Newest)
	r := e.pending.Record
	r.Renewed = e.renewed(false)
	e.write(&r)
	e.stored, e.content = e.version, &r
}

// renewed is the renewal time of the next record: a Lease shows microseconds, a ConfigMap whole seconds.
func (e *environment) renewed(wholeSeconds bool) time.Time {
	at := time.Unix(0, 0).Add(time.Duration(e.now)).Truncate(time.Second)
	if !wholeSeconds {
		at = at.Add(time.Duration(e.version.Revision+1) * time.Microsecond)
	}
	return at
}
