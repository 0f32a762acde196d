package machine

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// held is the record that we write as the holder. All that is ours comes from our
// configuration and never from what is stored, where a stranger may have edited it: a
// duration counts for others as soon as it stands beside our beat (rules observers-clock, bound-to-the-holder).
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
			Weight:      me.Weight,
			Duration:    s.cfg.Timing.LeaseDuration,
			Renewal:     record.RenewalRecord,
		},
	}
}

// nextToken is higher than every earlier one of this lock, also when the object was
// deleted in between: no version is used twice (rule tokens-rise). Each token was a version that its store
// had before the write, so all of them are below the present version. The newest version that the
// store has shown is above the tokens of other locks of the election, too, which had it before.
// What the record says adds nothing to that: a stranger may have set it, and tokens that went on
// from there would fall with a deletion.
func (s *step) nextToken() record.Token {
	return max(record.Token(s.Lock.Version.Revision), record.Token(s.cfg.Newest), s.Term.Token+1)
}

// remember adds a line to a record's history; its time is that of the write.
func remember(h []record.Entry, who, why string) []record.Entry {
	h = append(slices.Clone(h), record.Entry{Who: who, Why: why})
	return h[max(0, len(h)-record.HistoryLength):]
}
