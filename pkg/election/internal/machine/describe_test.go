package machine

import (
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// describe prints an action as transcripts show it.
func describe(a Action) string {
	switch a := a.(type) {
	case Write:
		return fmt.Sprintf("%s #%d onto %s: %s", a.Purpose, a.Beat, at(a.If), content(&a.Record))
	case Read:
		return "read"
	case Start:
		return fmt.Sprintf("START token %d cycle %d until %s", a.Token, a.Cycle, seconds(a.Deadline))
	case Extend:
		return "extend until " + seconds(a.Deadline)
	case Stop:
		return fmt.Sprintf("STOP by %s: %s", seconds(a.By), a.Reason)
	case WakeAt:
		if a.At == 0 {
			return "wake never"
		}
		return "wake at " + seconds(a.At)
	case EndSession:
		return fmt.Sprintf("end session, nothing before %s: %s", seconds(a.NotBefore), a.Reason)
	case Disown:
		return fmt.Sprintf("disown %s up to beat %d", a.Lock, a.Beat)
	case Report:
		text := fmt.Sprintf("report %s", a.Kind)
		if a.Kind == RoleChanged {
			text += fmt.Sprintf(" to %s: %s", a.Role, a.Reason)
		}
		if a.Detail != "" {
			text += ": " + strings.ReplaceAll(a.Detail, "_00000000", "")
		}
		return text
	}
	return fmt.Sprintf("%#v", a)
}

// content prints a record, and of its mark what differs from the record's fields.
func content(r *record.Record) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	add("holder %q", short(r.Holder))
	if r.Duration != 0 {
		add("for %v", r.Duration)
	}
	add("transitions %d", r.Transitions)
	if r.Token != 0 {
		add("token %d", r.Token)
	}
	switch {
	case r.Mark == nil:
		add("no mark")
	case r.Mark.Identity != r.Holder || r.Mark.Transitions != r.Transitions:
		add("mark of %q/%d", short(r.Mark.Identity), r.Mark.Transitions)
	}
	if r.Mark != nil {
		add("beat %d", r.Mark.Beat)
		if r.Mark.Duration != r.Duration {
			add("mark for %v", r.Mark.Duration)
		}
		if r.Mark.Falls != 0 {
			add("falls %d", r.Mark.Falls)
		}
		add("key %s", r.Mark.Key)
	}
	if r.Mark != nil && r.Mark.WasForeign {
		add("was foreign")
	}
	switch {
	case r.ThroughSession():
		add("through %s/%s", r.Mark.Session, r.Mark.SessionUID)
	case r.Mark != nil && r.Mark.Session != "":
		add("of session %s/%s", r.Mark.Session, r.Mark.SessionUID)
	}
	if r.Mark == nil && r.HolderKey != "" || r.Mark != nil && r.HolderKey != "" && r.HolderKey != r.Mark.Key {
		add("holder key %s", r.HolderKey)
	}
	if r.Claim != nil {
		add("claim of %s/%d for %v", r.Claim.Identity, r.Claim.Transitions, r.Claim.Duration)
	}
	if r.HandoverTo != "" {
		add("to %s", short(r.HandoverTo))
	}
	if r.Unreadable != "" {
		add("unreadable")
	}
	return strings.Join(words, ", ")
}

// made is a record as another writer would put it on top of what is stored.
func (e *environment) made(kind string, a arguments) *record.Record {
	r := &record.Record{}
	if e.object != nil {
		*r = *e.object
	}
	by := identity(a.text("by", "p1"))
	r.Transitions = a.number("transitions", r.Transitions)
	r.Renewed = e.renewed(a.text("times", "lease") == "configmap")
	switch kind {
	case "held", "free":
		r.HandoverTo, r.Unreadable = "", ""
		r.Claim = claim(a)
	}
	switch kind {
	case "empty":
		return &record.Record{}
	case "held", "free":
		token := int(r.Token)
		if kind == "held" && r.Holder != by {
			r.Transitions = a.number("transitions", r.Transitions+1)
			token = max(token+1, int(e.version.Revision))
		}
		r.Token = record.Token(a.number("token", token))
		beat := 1
		if r.Mark != nil {
			beat = int(r.Mark.Beat) + 1
		}
		d := a.duration("duration", 15*time.Second)
		r.Holder, r.Duration, r.HolderKey = by, d, record.Key(a.text("key", "stable"))
		r.Mark = &record.Mark{
			Identity: by, Transitions: r.Transitions, Key: record.Key(a.text("key", "stable")),
			Beat: uint64(a.number("beat", beat)), Duration: d, Renewal: record.Renewal(a.text("renewal", "record")),
		}
		r.Mark.Falls = int16(a.number("falls", 0))
		if a["acquired"] != "" {
			r.Acquired = dawn.Add(a.duration("acquired", 0))
		}
		if r.ThroughSession() || a["session"] != "" {
			name := "s-" + a.text("by", "p1")
			r.Mark.Session, r.Mark.SessionUID = a.text("session", name), a.text("uid", "us-"+a.text("by", "p1"))
		}
		if r.ThroughSession() {
			r.Duration = unexpiring
		}
		if kind == "free" {
			r.Mark.Renewal, r.Mark.Session, r.Mark.SessionUID = record.RenewalRecord, "", ""
			r.Holder, r.Mark.Identity, r.Duration = "", "", time.Second
			r.HandoverTo = identity(a.text("to", ""))
			for option, why := range map[string]Reason{"left": ReasonShutdown, "failed": ReasonFailed} {
				if who := a.text(option, ""); who != "" {
					r.History = remember(r.History, identity(who), released+string(why))
				}
			}
		}
	case "foreign": // our annotations stay, and so does the key if it knows none
		if r.Holder != by {
			r.Transitions = a.number("transitions", r.Transitions+1)
		}
		r.Holder, r.Duration = by, a.duration("duration", 15*time.Second)
		r.HolderKey = record.Key(a.text("key", string(r.HolderKey)))
	case "released": // by a foreign elector
		r.Holder, r.Duration, r.Acquired = "", time.Second, r.Renewed
		r.HolderKey = record.Key(a.text("key", string(r.HolderKey)))
	case "blank": // by a stranger
		r.Holder = ""
		if e.object != nil {
			r.Renewed = e.object.Renewed
		}
	default:
		panic("unknown record " + kind)
	}
	return r
}

// dawn is when wall clocks begin.
var dawn = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// claim reads claim=IDENTITY/TRANSITIONS/DURATION; empty for none.
func claim(a arguments) *record.Claim {
	text := a["claim"]
	if text == "" {
		return nil
	}
	part := strings.Split(text, "/")
	b := arguments{"transitions": part[1], "duration": part[2]}
	return &record.Claim{Identity: part[0], Transitions: b.number("transitions", 0), Duration: b.duration("duration", 0)}
}

// edit changes single fields of what is stored.
func edit(e *environment, _ string, a arguments) {
	r := *e.object
	if r.Mark != nil {
		m := *r.Mark
		r.Mark = &m
	}
	for k, v := range a {
		switch k {
		case "label": // what we do not read
		case "holder":
			r.Holder = identity(v)
		case "duration":
			r.Duration = a.duration(k, 0)
		case "markDuration":
			r.Mark.Duration = a.duration(k, 0)
		case "beat":
			r.Mark.Beat = uint64(a.number(k, 0))
		case "token":
			r.Token = record.Token(a.number(k, 0))
		case "renewal":
			r.Mark.Renewal = record.Renewal(v)
		case "wasForeign":
			r.Mark.WasForeign = true
		case "session":
			r.Mark.Session = v
		case "uid":
			r.Mark.SessionUID = v
		case "key":
			r.Mark.Key = record.Key(v)
		case "holderKey":
			r.HolderKey = record.Key(v)
		case "renewed":
			r.Renewed = time.Time{}
		case "claim":
			r.Claim = claim(a)
		case "transitions":
			r.Transitions = a.number(k, 0)
		case "unreadable":
			r.Unreadable = v
		case "to":
			r.HandoverTo = identity(v)
		default:
			panic("unknown field " + k)
		}
	}
	e.write(&r)
}
