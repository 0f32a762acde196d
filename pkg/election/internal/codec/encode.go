package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Encode makes the object for the record, including its Rest. It writes zero times as now, and
// truncates times to microseconds, those of the history to seconds. It ignores Record.Unreadable. If the annotations of others
// leave no room for ours, it drops the largest of them.
// The error wraps lock.ErrInvalid.
func Encode(r record.Record, now time.Time) (Object, error) {
	o, err := object(&r)
	if err != nil {
		return Object{}, err
	}
	e := encoder{o: &o, now: now}
	e.fields(&r)
	e.labels(&r)
	e.annotations(&r)
	if e.err != nil {
		return Object{}, fmt.Errorf("%w: %w", lock.ErrInvalid, e.err)
	}
	return o, nil
}

// encoder keeps the first error.
type encoder struct {
	o   *Object
	now time.Time
	err error
}

func (e *encoder) check(what string, err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s: %w", what, err)
	}
}

func (e *encoder) fields(r *record.Record) {
	e.check("holder", checkText(r.Holder, MaxIdentity))
	// An object that nobody ever held has no duration.
	if r.Duration != 0 || r.Holder != "" {
		e.check("duration", checkDuration(r.Duration))
	}
	e.check("transitions", checkCount(r.Transitions, maxTransitions))
	e.check("holder key", checkText(string(r.HolderKey), MaxIdentity))
	e.o.Fields = Fields{
		Holder:          r.Holder,
		DurationSeconds: int64(r.Duration / time.Second),
		Acquired:        e.time("acquire time", r.Acquired, time.Microsecond),
		Renewed:         e.time("renew time", r.Renewed, time.Microsecond),
		Transitions:     int64(r.Transitions),
		HolderKey:       string(r.HolderKey),
	}
}

func (e *encoder) time(what string, t time.Time, unit time.Duration) time.Time {
	if t.IsZero() {
		t = e.now
	}
	e.check(what, checkTime(t))
	return t.UTC().Truncate(unit)
}

func (e *encoder) labels(r *record.Record) {
	if r.Election != "" {
		e.check("election", checkLabel(r.Election))
		put(&e.o.Labels, lock.ElectionLabel, r.Election)
	}
	if r.Group != "" {
		e.check("group", checkLabel(r.Group))
		put(&e.o.Labels, lock.GroupLabel, r.Group)
		if _, others := e.o.Labels[lock.ManagedByLabel]; !others {
			put(&e.o.Labels, lock.ManagedByLabel, lock.ManagedBy)
		}
	}
}

func (e *encoder) annotations(r *record.Record) {
	if r.Token != 0 {
		e.check("token", checkBeat(uint64(r.Token)))
		e.annotate(TokenAnnotation, strconv.FormatUint(uint64(r.Token), 10))
	}
	if r.HandoverTo != "" {
		e.check("handover", checkText(r.HandoverTo, MaxIdentity))
		e.annotate(HandoverAnnotation, r.HandoverTo)
	}
	if r.Claim != nil {
		e.claim(*r.Claim)
	}
	if r.Mark != nil {
		e.mark(r)
	}
	if len(r.History) > 0 {
		e.history(r.History)
	}
	if r.Member != nil {
		e.member(*r.Member)
	}
	if total := e.o.MakeRoom(0); total > MaxAnnotations {
		e.check("annotations", fmt.Errorf("%d bytes are more than %d", total, MaxAnnotations))
	}
}

// mark writes the record's mark. A session's beat goes to an annotation of its own.
func (e *encoder) mark(r *record.Record) {
	m := *r.Mark
	e.check("mark: identity", checkText(m.Identity, MaxIdentity))
	e.check("mark: transitions", checkCount(m.Transitions, maxTransitions))
	e.check("mark: key", checkText(string(m.Key), MaxIdentity))
	e.check("mark: weight", checkWeight(int(m.Weight)))
	e.check("mark: falls", checkCount(int(m.Falls), maxWeight))
	e.check("mark: session", checkText(m.Session, MaxIdentity))
	e.check("mark: session uid", checkText(m.SessionUID, MaxIdentity))
	e.check("mark: beat", checkBeat(m.Beat))
	e.check("mark: renewal", checkRenewal(m.Renewal))
	if m.Duration != 0 || m.Identity != "" {
		e.check("mark: duration", checkLease(m.Duration))
	}
	transitions := int64(m.Transitions)
	w := wireMark{
		Identity: &m.Identity, Transitions: &transitions,
		Key: string(m.Key), Weight: int(m.Weight), Falls: int32(m.Falls),
		Session: m.Session, SessionUID: m.SessionUID, Beat: m.Beat,
		DurationSeconds: int64(m.Duration / time.Second), Renewal: string(m.Renewal), WasForeign: m.WasForeign,
	}
	if r.IsSession() {
		w.Beat = 0
		w.Deaths = e.deaths(r.Member.Deaths)
		e.annotate(BeatAnnotation, strconv.FormatUint(m.Beat, 10))
	}
	e.annotateJSON(HolderAnnotation, w)
}

func (e *encoder) deaths(all []record.Death) (lines []wireDeath) {
	for _, d := range all[max(0, len(all)-record.MostDeaths):] {
		e.check("death: proof", checkText(string(d.Proof), MaxIdentity))
		e.check("death: identity", checkText(d.Identity, MaxIdentity))
		e.check("death: uid", checkText(d.UID, MaxIdentity))
		e.check("death: beat", checkBeat(d.Beat))
		e.check("death: by", checkText(d.By, MaxIdentity))
		e.check("death: at", checkTime(d.At))
		lines = append(lines, wireDeath{
			Proof: string(d.Proof), Identity: d.Identity, UID: d.UID, Beat: d.Beat, By: d.By, How: cut(d.How, MaxWhy),
			At: d.At.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano),
		})
	}
	return lines
}

func (e *encoder) claim(c record.Claim) {
	if c.Identity == "" {
		e.check("claim", errNoIdentity)
	}
	// A claim names a holder that we read, so the limit is that of reading.
	e.check("claim: identity", checkText(c.Identity, maxForeignIdentity))
	e.check("claim: transitions", checkCount(c.Transitions, maxTransitions))
	e.check("claim: duration", checkDuration(c.Duration))
	transitions := int64(c.Transitions)
	e.annotateJSON(ClaimAnnotation, wireClaim{
		Identity: c.Identity, Transitions: &transitions, DurationSeconds: int64(c.Duration / time.Second),
	})
}

func (e *encoder) history(entries []record.Entry) {
	entries = entries[max(0, len(entries)-record.HistoryLength):]
	lines := make([]wireEntry, len(entries))
	for i, h := range entries {
		e.check("history: who", checkText(h.Who, MaxIdentity))
		why := cut(h.Why, MaxWhy)
		e.check("history: why", checkText(why, MaxWhy))
		lines[i] = wireEntry{When: e.time("history: when", h.When, time.Second).Format(time.RFC3339), Who: h.Who, Why: why}
	}
	e.annotateJSON(HistoryAnnotation, lines)
}

func (e *encoder) member(m record.Member) {
	if m.Identity == "" {
		e.check("member", errNoIdentity)
	}
	e.check("member: identity", checkText(m.Identity, MaxIdentity))
	e.check("member: revision", checkText(m.Revision, MaxIdentity))
	e.check("member: location", checkLocation(m.Location))
	e.check("member: weight", checkWeight(m.Weight))
	e.check("member: preference", checkText(m.Preference, MaxIdentity))
	e.check("member: config", checkText(m.Config, MaxIdentity))
	e.check("member: fallen", checkCount(m.Fallen, maxWeight))
	e.check("member: version", checkText(m.Version, MaxIdentity))
	e.check("member: drift", checkCount(m.DriftPPM, maxDrift))
	e.check("member: longest lease", checkCount(m.LongestLease, longestLease))
	e.check("member: rules", checkText(m.Rules, MaxIdentity))
	e.check("member: timings", checkText(m.Timings, MaxIdentity))
	e.check("member: places", checkText(m.Places, MaxIdentity))
	for _, s := range m.Standing {
		e.check("member: standing", checkText(s, MaxIdentity))
	}
	for _, s := range m.Open {
		e.check("member: open", checkText(s, MaxIdentity))
	}
	e.check("member: protocol", checkCount(m.Protocol, maxWeight))
	for _, p := range m.Proofs {
		e.check("member: proofs", checkText(string(p), MaxIdentity))
	}
	e.check("member: renew interval", checkInterval(m.RenewInterval))
	var container *wireContainer
	if c := m.Container; c != (record.Container{}) {
		for _, text := range []string{c.Namespace, c.Pod, c.PodUID, c.Name, c.ID, c.Node, c.NodeUID, c.BootID} {
			e.check("member: container", checkText(text, MaxIdentity))
		}
		w := wireContainer(c)
		container = &w
	}
	var disowned []wireDisowned
	for _, d := range m.Disowned {
		e.check("member: disowned", checkText(d.Lock, MaxIdentity))
		e.check("member: disowned", checkBeat(d.Beat))
		disowned = append(disowned, wireDisowned(d))
	}
	var lacks []wireLack
	for _, l := range m.Lacks[:min(len(m.Lacks), record.MostLacks)] {
		e.check("member: lacks", checkText(l.Election, MaxIdentity))
		lacks = append(lacks, wireLack{l.Election, short(l.Why)})
	}
	var predecessors []wirePredecessor
	for _, p := range m.Predecessors[:min(len(m.Predecessors), record.MostPredecessors)] {
		e.check("member: predecessors: config", checkText(p.Config, MaxIdentity))
		e.check("member: predecessors: timings", checkText(p.Timings, MaxIdentity))
		e.check("member: predecessors: longest lease", checkCount(p.LongestLease, longestLease))
		e.check("member: predecessors: session's lease", checkCount(p.SessionLease, longestLease))
		e.check("member: predecessors: drift", checkCount(p.DriftPPM, maxDrift))
		e.check("member: predecessors: for", checkCount(p.For, longestWork))
		predecessors = append(predecessors, wirePredecessor{p.Config, p.Timings, p.LongestLease, p.SessionLease, p.DriftPPM, p.For})
	}
	e.annotateJSON(MemberAnnotation, wireMember{
		Identity: m.Identity, Revision: m.Revision, Location: string(m.Location), Weight: m.Weight, Ready: m.Ready,
		Preference: m.Preference, Config: m.Config, Fallen: m.Fallen, Standing: m.Standing, Open: m.Open,
		Version: m.Version, DriftPPM: m.DriftPPM, Longest: m.LongestLease, Rules: m.Rules, Timings: m.Timings, Places: m.Places,
		Protocol: m.Protocol, Disowned: disowned, Proofs: m.Proofs, Container: container, RenewMillis: m.RenewInterval.Milliseconds(),
		Lacks: lacks, Lags: short(m.Lags), Predecessors: predecessors,
	})
}

// short is a text for people as a record keeps it.
func short(text string) string { return cut(strings.ToValidUTF8(text, "\ufffd"), MaxWhy) }

func (e *encoder) annotate(key, value string) {
	if len(value) > MaxAnnotation {
		e.check(key, fmt.Errorf("%d bytes are more than %d", len(value), MaxAnnotation))
	}
	put(&e.o.Annotations, key, value)
}

func (e *encoder) annotateJSON(key string, value any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	e.check(key, enc.Encode(value))
	e.annotate(key, string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// cut shortens s to at most n bytes without breaking a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
