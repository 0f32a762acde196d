package machine

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// held is the record that we write as the holder. Our own fields come from our configuration, never from
// the stored record, which a stranger may have edited: others rely on whatever duration the record shows
// together with a new beat of ours (rules observers-clock, bound-to-the-holder).
func (s *step) held(token record.Token) record.Record {
	l, me := s.Lock.Record, s.cfg.Member
	return record.Record{
		Holder:      me.Identity,
		HolderKey:   me.Key(),
		Duration:    s.shownDuration(),
		Transitions: l.Transitions,
		Token:       token,
		History:     l.History,
		Group:       s.cfg.Group,
		Election:    s.cfg.Election,
		Rest:        l.Rest,
		Mark: &record.Mark{
			Identity:    me.Identity,
			Transitions: l.Transitions,
			Key:         me.Key(),
			Weight:      int32(me.Weight), // #nosec G115 -- no session is stored with a larger one
			Duration:    s.cfg.Timing.LeaseDuration,
			Session:     s.cfg.Beat.Session, // for a proof of our death
			SessionUID:  s.cfg.Beat.UID,
			Renewal:     record.RenewalRecord,
			WasForeign:  s.wasForeign(),
		},
	}
}

// wasForeign says whether an elector that is not ours ever held the lock, as far as we or its record know, or shares it
// by our configuration. A record that somebody else has written says so, too (rule the-way-back-stays-open).
func (s *step) wasForeign() bool {
	r := s.Lock.Record
	switch {
	case s.Lock.shared, s.cfg.Foreign.Sharing != NotShared:
		return true
	case r == nil || r.Untouched():
		return false
	case r.Mark == nil:
		return true
	}
	return r.Mark.WasForeign || !r.Bound() // another elector has written over our mark
}

// nextToken is higher than every earlier token of this lock, even across a deletion: the store uses no
// version twice (rule tokens-rise). Each token was a version of the store before its write, so all of them
// are below the present version. The newest version that the store has shown is also above the tokens of
// other locks that this election had before. We ignore the token in the record: a stranger may have set it,
// and tokens that we count on from it would fall when the lock is deleted.
func (s *step) nextToken() record.Token {
	return max(record.Token(s.Lock.Version.Revision), record.Token(s.cfg.Newest), s.Term.Token+1)
}

// remember adds a line to a record's history; its time is that of the write.
func remember(h []record.Entry, who, why string) []record.Entry {
	h = append(slices.Clone(h), record.Entry{Who: who, Why: why})
	return h[max(0, len(h)-record.HistoryLength):]
}
