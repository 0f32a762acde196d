package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Bury returns the record that ends the session of a dead member before it has lapsed, given the session's
// present record and version (rule proof-not-patience). It completes the death. The error says why the proof
// does not count for this session.
func Bury(r *record.Record, v record.Version, d record.Death) (record.Record, error) {
	switch {
	case !r.Bound() || r.Member == nil:
		return record.Record{}, fmt.Errorf("its record is not the member's own (%s)", r.Unreadable)
	case r.Holder != d.Identity || r.Member.Identity != d.Identity:
		return record.Record{}, fmt.Errorf("it is the session of %s, not of %s", r.Holder, d.Identity)
	case !slices.Contains(r.Member.Proofs, d.Proof):
		return record.Record{}, fmt.Errorf("it does not accept proofs of kind %s", d.Proof)
	case d.By == d.Identity:
		return record.Record{}, fmt.Errorf("%s cannot prove its own death", d.By)
	case d.Proof.IsWord() && (d.UID != v.UID || d.Beat != beatOf(r)): // rule words-need-silence
		return record.Record{}, fmt.Errorf("%w: beat %d of it came after beat %d", ErrRefuted, beatOf(r), d.Beat)
	}
	d.UID, d.Beat = v.UID, beatOf(r)
	e := EndedRecord(r, d.By, fmt.Sprintf("ended: its member died (%s)", d.How))
	m := *e.Member
	m.Deaths = append(carried(r, v.UID), d)
	m.Deaths = m.Deaths[max(0, len(m.Deaths)-record.MostDeaths):]
	e.Member = &m
	return e, nil
}

// ErrRefuted says that a session beat after somebody's word that its member is dead.
var ErrRefuted = errors.New("its member lives")

// Quiet is for how long a session must be silent before a word may end it: two renewIntervals, by a clock that may be
// fast. The error says that the session does not state its renewInterval.
func Quiet(r *record.Record) (time.Duration, error) {
	if r.Member == nil || r.Member.RenewInterval == 0 {
		return 0, errors.New("it does not say how often it beats")
	}
	t := record.Timing{Drift: max(r.Member.Drift(), record.DefaultDrift)}
	return t.ObserverWait(2 * r.Member.RenewInterval), nil
}

// complete adds what a session that accepts words says of its timing: how often it beats, in whole milliseconds.
func complete(cfg Config, m record.Member) record.Member {
	if m.AcceptsWords() {
		m.RenewInterval = (cfg.Timing.RenewInterval + time.Millisecond - 1).Truncate(time.Millisecond)
	}
	return m
}

// Proven are the deaths that a record of a session with the given uid proves.
func Proven(r *record.Record, uid string) (proven []record.Death) {
	if r.Member == nil {
		return nil
	}
	for _, d := range r.Member.Deaths {
		if proves(r, uid, d) {
			proven = append(proven, d)
		}
	}
	return proven
}

// proves says whether the record of a session proves a death of which it tells. The death of the session's own member counts only
// beside the very end that it came with.
func proves(r *record.Record, uid string, d record.Death) bool {
	own := d.Identity == r.Member.Identity
	return d.UID == uid && (!own || r.Released() && d.Beat+1 == r.Mark.Beat && slices.Contains(r.Member.Proofs, d.Proof))
}

// told are all deaths of which a record tells. Those that it does not prove have no UID: a stranger edited the record, or
// an earlier one.
func told(r *record.Record, uid string) []record.Death {
	if r.Member == nil {
		return nil
	}
	all := slices.Clone(r.Member.Deaths)
	for i := range all {
		if !proves(r, uid, all[i]) {
			all[i].UID = ""
		}
	}
	return all
}

// deathsIn are the deaths that the slot tells of.
func (d *Directory) deathsIn(name string) []record.Death {
	if s := d.slot(name); s != nil {
		return s.deaths
	}
	return nil
}

// carried are the deaths that the next record of the same object repeats, proven or not.
func carried(r *record.Record, uid string) []record.Death {
	if r == nil || !r.Bound() {
		return nil
	}
	return told(r, uid)
}
