package member

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Leader is the holder of an election's lock, as this member last saw it.
type Leader struct {
	// Identity is empty without a known holder.
	Identity string
	Revision string
	Location record.Location
	Token    record.Token
}

// leaderOf is the lock's holder, as the machine knows it.
func leaderOf(s *machine.State) Leader {
	rec := s.Lock.Record
	if rec == nil || rec.Holder == "" {
		return Leader{}
	}
	l := Leader{Identity: rec.Holder}
	if rec.Bound() {
		l.Revision, l.Location, l.Token = rec.Mark.Key.Revision(), rec.Mark.Key.Location(), rec.Token
	}
	return l
}
