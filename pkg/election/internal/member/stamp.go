package member

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// stamp returns the record with the time of sending in place of each zero time.
func stamp(r record.Record, wall, renewed time.Time) record.Record {
	wall = wall.UTC().Truncate(time.Microsecond)
	if r.Mark != nil {
		if r.Acquired.IsZero() {
			r.Acquired = wall
		}
		if r.Renewed.IsZero() {
			r.Renewed = visible(wall, renewed)
		}
	}
	for i := range r.History {
		if r.History[i].When.IsZero() {
			r.History = slices.Clone(r.History)
			r.History[i].When = wall.Truncate(time.Second)
		}
	}
	return r
}

// visible is a renewal time that electors of client-go can tell from the previous one, before. These
// electors see whole seconds: a renewal within the same second would extend our term but not their wait, so
// one of them would lead before we have stopped.
func visible(wall, before time.Time) time.Time {
	next := before.Truncate(time.Second).Add(time.Second)
	if before.IsZero() || !wall.Before(next) || next.Sub(wall) > mostAhead {
		return wall
	}
	return next.UTC()
}

// mostAhead bounds how far a renewal time may be ahead of the wall clock. If it is further ahead, a
// stranger wrote it, or somebody set the clock back since.
const mostAhead = time.Minute
