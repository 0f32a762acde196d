package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

var (
	errNoIdentity    = errors.New("no identity")
	errNoTransitions = errors.New("no transitions")
)

// Decoder decodes objects. Its records share equal strings, so each store should use one Decoder.
// The zero Decoder is ready.
type Decoder struct {
	strings interner
}

// Decode reads the object as a record. It keeps no reference to the object's maps.
func (d *Decoder) Decode(o Object) *record.Record {
	r := &record.Record{Rest: restOf(o)}
	p := &decoder{Decoder: d, r: r}
	p.fields(o.Fields)
	p.labels(o.Labels)
	p.annotations(o.Annotations)
	r.Unreadable = p.problem
	return r
}

// decoder reads one object and keeps the first problem.
type decoder struct {
	*Decoder
	r       *record.Record
	problem string
}

// check notes err as the problem, if it is the first, and says whether err is nil.
func (p *decoder) check(what string, err error) bool {
	if err != nil && p.problem == "" {
		p.problem = what + ": " + err.Error()
	}
	return err == nil
}

func (p *decoder) fields(f Fields) {
	if f.Problem != "" {
		p.check("fields", errors.New(f.Problem))
	}
	r := p.r
	r.Holder = p.identity("holder", f.Holder)
	if f.DurationSeconds != 0 && p.check("duration", checkSeconds(f.DurationSeconds)) {
		r.Duration = time.Duration(f.DurationSeconds) * time.Second
	}
	if f.DurationSeconds > int64(MaxDuration/time.Second) {
		r.Duration = MaxDuration // never shorten a foreign holder's duration to zero
	}
	r.Acquired = p.time("acquire time", f.Acquired)
	r.Renewed = p.time("renew time", f.Renewed)
	if p.check("transitions", checkCount(f.Transitions, maxTransitions)) {
		r.Transitions = int(f.Transitions)
	}
	r.HolderKey = record.Key(p.identity("holder key", f.HolderKey))
}

// identity reads an identity that anybody may have written. If it is too long or not valid text, identity
// returns another one, which no elector has and which we can write into a claim.
func (p *decoder) identity(what, s string) string { return p.identityOf(what, s, maxForeignIdentity) }

// identityOf reads an identity of at most that many bytes.
func (p *decoder) identityOf(what, s string, most int) string {
	if p.check(what, checkText(s, most)) {
		return p.strings.share(s)
	}
	return fmt.Sprintf("%s...(%d bytes)", cut(strings.ToValidUTF8(cut(s, 253), "\ufffd"), 253), len(s))
}

func (p *decoder) time(what string, t time.Time) time.Time {
	if t.IsZero() || !p.check(what, checkTime(t)) {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

func (p *decoder) labels(labels map[string]string) {
	label := func(key string) string {
		value := labels[key]
		if !p.check(key, checkLabel(value)) {
			return ""
		}
		return value
	}
	p.r.Group = p.strings.share(label(lock.GroupLabel))
	p.r.Election = label(lock.ElectionLabel) // not shared: each lock has another
}

func (p *decoder) annotations(a map[string]string) {
	r := p.r
	if s, ok := a[TokenAnnotation]; ok {
		r.Token = record.Token(p.count(TokenAnnotation, s))
	}
	// No member has a longer name, so it names nobody. A renewal that kept it would be refused, and end the term.
	if s, ok := a[HandoverAnnotation]; ok && len(s) <= MaxIdentity {
		r.HandoverTo = p.identity(HandoverAnnotation, s)
	}
	if s, ok := a[ClaimAnnotation]; ok {
		r.Claim = p.claim(s)
	}
	if s, ok := a[MemberAnnotation]; ok {
		r.Member = p.member(s)
	}
	if s, ok := a[HolderAnnotation]; ok {
		r.Mark = p.mark(s)
	}
	if s, ok := a[HistoryAnnotation]; ok {
		r.History = p.history(s)
	}
	p.beat(a)
}

// beat reads a session's beat, which has an annotation of its own.
func (p *decoder) beat(a map[string]string) {
	s, found := a[BeatAnnotation]
	_, session := a[MemberAnnotation]
	_, marked := a[HolderAnnotation]
	switch {
	case found && !session:
		p.check(BeatAnnotation, fmt.Errorf("is there, but %s is missing", MemberAnnotation))
	case found && !marked:
		p.check(BeatAnnotation, fmt.Errorf("is there, but %s is missing", HolderAnnotation))
	case !found && session && marked:
		p.check(BeatAnnotation, errors.New("is missing"))
	}
	if !found || p.r.Mark == nil {
		return
	}
	p.r.Mark.Beat = p.count(BeatAnnotation, s)
}

func (p *decoder) count(what, s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		p.check(what, fmt.Errorf("%s is no number", quote(s)))
		return 0
	}
	if !p.check(what, checkBeat(n)) {
		return 0
	}
	return n
}

// mark returns nil if the annotation is not a valid mark.
func (p *decoder) mark(s string) *record.Mark {
	const what = HolderAnnotation
	var w wireMark
	if !p.json(what, s, &w) {
		return nil
	}
	switch {
	case w.Identity == nil:
		p.check(what, errNoIdentity)
		return nil
	case w.Transitions == nil:
		p.check(what, errNoTransitions)
		return nil
	case !p.check(what+": transitions", checkCount(*w.Transitions, maxTransitions)),
		!p.check(what+": weight", checkWeight(w.Weight)),
		!p.check(what+": falls", checkCount(int(w.Falls), maxWeight)),
		!p.check(what+": beat", checkBeat(w.Beat)),
		!p.check(what+": renewal", checkRenewal(record.Renewal(w.Renewal))):
		return nil
	}
	if (w.DurationSeconds != 0 || *w.Identity != "") && !p.check(what+": duration", checkSeconds(w.DurationSeconds)) {
		return nil
	}
	if p.r.Member != nil {
		p.r.Member.Deaths = p.deaths(w.Deaths)
	}
	return &record.Mark{
		Identity:    p.identity(what+": identity", *w.Identity),
		Transitions: int(*w.Transitions),
		Key:         record.Key(p.text(what+": key", w.Key)),
		Weight:      int32(w.Weight),                    // #nosec G115 -- checkWeight bounds it
		Falls:       int16(min(w.Falls, math.MaxInt16)), // #nosec G115 -- checkCount bounds it below; no member writes so many
		Session:     p.text(what+": session", w.Session),
		SessionUID:  p.text(what+": session uid", w.SessionUID),
		Beat:        w.Beat,
		Duration:    min(time.Duration(w.DurationSeconds)*time.Second, record.MaxLeaseDuration), // no member writes more
		Renewal:     record.Renewal(p.strings.share(w.Renewal)),
		WasForeign:  w.WasForeign,
	}
}

// deaths leaves out deaths that it cannot read, or whose kind of proof it does not know. They prove nothing to
// this member, and the rest of the mark counts.
func (p *decoder) deaths(lines []wireDeath) (all []record.Death) {
	for _, l := range lines[max(0, len(lines)-record.MostDeaths):] {
		at, err := time.Parse(time.RFC3339Nano, l.At)
		if err != nil || checkTime(at) != nil || checkBeat(l.Beat) != nil || l.Identity == "" || !record.Proof(l.Proof).IsKnown() ||
			checkText(l.Identity, MaxIdentity) != nil || checkText(l.UID, MaxIdentity) != nil || checkText(l.By, MaxIdentity) != nil || !utf8.ValidString(l.How) {
			continue
		}
		all = append(all, record.Death{
			Proof: record.Proof(l.Proof), Identity: p.strings.share(l.Identity), UID: p.strings.share(l.UID), Beat: l.Beat,
			By: l.By, How: cut(l.How, MaxWhy), At: at.UTC().Truncate(time.Microsecond),
		})
	}
	return all
}

// claim returns nil if the annotation is not a valid claim. The identity in it is a stranger's.
func (p *decoder) claim(s string) *record.Claim {
	const what = ClaimAnnotation
	var w wireClaim
	if !p.json(what, s, &w) {
		return nil
	}
	switch {
	case w.Identity == "":
		p.check(what, errNoIdentity)
		return nil
	case w.Transitions == nil:
		p.check(what, errNoTransitions)
		return nil
	case !p.check(what+": transitions", checkCount(*w.Transitions, maxTransitions)),
		!p.check(what+": duration", checkSeconds(w.DurationSeconds)):
		return nil
	}
	return &record.Claim{
		Identity:    p.identity(what+": identity", w.Identity),
		Transitions: int(*w.Transitions),
		Duration:    time.Duration(w.DurationSeconds) * time.Second,
	}
}

// within clamps a stranger's number to what a member may publish.
func within(n, most int) int { return min(max(n, 0), most) }

// member returns nil if the annotation is not a valid member.
func (p *decoder) member(s string) *record.Member {
	const what = MemberAnnotation
	var w wireMember
	if !p.json(what, s, &w) {
		return nil
	}
	if w.Identity == "" {
		p.check(what, errNoIdentity)
		return nil
	}
	if !p.check(what+": location", checkLocation(record.Location(w.Location))) ||
		!p.check(what+": weight", checkWeight(w.Weight)) ||
		!p.check(what+": fallen", checkCount(w.Fallen, maxWeight)) {
		return nil
	}
	m := &record.Member{
		Identity:   p.identityOf(what+": identity", w.Identity, MaxIdentity), // whoever ends the session writes it again
		Revision:   p.text(what+": revision", w.Revision),
		Location:   record.Location(p.strings.share(w.Location)),
		Weight:     w.Weight,
		Ready:      w.Ready,
		Preference: p.text(what+": preference", w.Preference),
		Config:     p.text(what+": config", w.Config),
		Fallen:     w.Fallen,
		Setup: record.Setup{
			Places:  p.text(what+": places", w.Places),
			Version: p.text(what+": version", w.Version), Rules: p.text(what+": rules", w.Rules), Timings: p.text(what+": timings", w.Timings),
			DriftPPM: within(w.DriftPPM, maxDrift), LongestLease: within(w.Longest, longestLease),
			Protocol: within(w.Protocol, maxWeight),
		},
	}
	if c := w.Container; c != nil {
		read := func(s string) string { return p.text(what+": container", s) }
		m.Container = record.Container{
			Namespace: read(c.Namespace), Pod: read(c.Pod), PodUID: read(c.PodUID), Name: read(c.Name), ID: read(c.ID),
			Node: read(c.Node), NodeUID: read(c.NodeUID), BootID: read(c.BootID),
		}
	}
	m.RenewInterval = time.Duration(min(max(w.RenewMillis, 0), record.MaxLeaseDuration.Milliseconds())) * time.Millisecond
	for _, e := range w.Standing {
		m.Standing = append(m.Standing, p.text(what+": standing", e))
	}
	for _, e := range w.Open {
		m.Open = append(m.Open, p.text(what+": open", e))
	}
	for _, one := range w.Proofs {
		m.Proofs = append(m.Proofs, record.Proof(p.text(what+": proofs", string(one))))
	}
	for _, l := range w.Lacks[:min(len(w.Lacks), record.MostLacks)] {
		m.Lacks = append(m.Lacks, record.Lack{Election: p.text(what+": lacks", l.Election), Why: strings.Clone(cut(l.Why, MaxWhy))})
	}
	for _, e := range w.Predecessors[:min(len(w.Predecessors), record.MostPredecessors)] {
		m.Predecessors = append(m.Predecessors, record.Predecessor{
			Config: p.text(what+": predecessors", e.Config), Timings: p.text(what+": predecessors", e.Timings),
			LongestLease: within(e.Longest, longestLease), SessionLease: within(e.Session, longestLease),
			DriftPPM: within(e.DriftPPM, maxDrift), For: within(e.For, longestWork),
		})
	}
	m.Lags = strings.Clone(cut(w.Lags, MaxWhy))
	for _, d := range w.Disowned {
		if p.check(what+": disowned", checkBeat(d.Beat)) {
			m.Disowned = append(m.Disowned, record.Disowned{Lock: p.text(what+": disowned", d.Lock), Beat: d.Beat})
		}
	}
	return m
}

func (p *decoder) history(s string) []record.Entry {
	const what = HistoryAnnotation
	var lines []wireEntry
	if !p.json(what, s, &lines) {
		return nil
	}
	lines = lines[max(0, len(lines)-record.HistoryLength):]
	var entries []record.Entry
	for _, l := range lines {
		when, err := time.Parse(time.RFC3339, l.When)
		if err != nil {
			err = fmt.Errorf("%s is no time", quote(l.When))
		}
		if !p.check(what+": when", err) || !p.check(what+": when", checkTime(when)) {
			return nil
		}
		entries = append(entries, record.Entry{
			When: when.UTC().Truncate(time.Second),
			Who:  p.text(what+": who", l.Who),
			Why:  p.strings.share(cut(l.Why, MaxWhy)),
		})
	}
	return entries
}

// text reads a text that our own members keep short.
func (p *decoder) text(what, s string) string {
	if !p.check(what, checkText(s, MaxIdentity)) {
		return ""
	}
	return p.strings.share(s)
}

// json reads an annotation into *into.
func (p *decoder) json(what, s string, into any) bool {
	return p.check(what, ReadJSON(s, into))
}

// ReadJSON reads the JSON of an annotation into *into, as far as possible. The error is one short line.
func ReadJSON(s string, into any) error {
	if len(s) > MaxAnnotation {
		return fmt.Errorf("%d bytes are more than %d", len(s), MaxAnnotation)
	}
	if !utf8.ValidString(s) {
		return errors.New("is not valid UTF-8")
	}
	if err := json.Unmarshal([]byte(s), into); err != nil {
		return errors.New(problemOf(err))
	}
	return nil
}

// problemOf is a short form of an error of encoding/json. Of a stranger's text it repeats only a field's name.
func problemOf(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if t.Field == "" {
			return "JSON of the wrong type"
		}
		return fmt.Sprintf("JSON field %s has the wrong type", quote(t.Field))
	}
	return "broken JSON"
}

func checkWeight(n int) error {
	if n < -maxWeight || n > maxWeight {
		return fmt.Errorf("%d is not from %d to %d", n, -maxWeight, maxWeight)
	}
	return nil
}

func checkBeat(n uint64) error {
	if n > maxCount {
		return fmt.Errorf("%d is more than %d", n, uint64(maxCount))
	}
	return nil
}
