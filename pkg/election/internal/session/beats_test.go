package session

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// raised is a record that a stranger gave another beat.
func raised(r record.Record, beat uint64) *record.Record {
	mark := *r.Mark
	mark.Beat, r.Mark = beat, &mark
	return &r
}

// TestARaisedBeatIsNoneOfOurs checks rule seen-not-assumed: a stranger raises our beat by one while our next beat is under way. We do
// not take the one for the other: ours may have been sent later.
func TestARaisedBeatIsNoneOfOurs(t *testing.T) {
	j := newJoiner(t)
	first := j.writes(2 * second)
	j.stored(2*second, first, record.Version{UID: "u", Revision: 11})
	j.writes(4 * second)
	if seen, ours := j.Seen(4*second, first.Name, raised(first.Record, first.Beat+1), record.Version{UID: "u", Revision: 12}); ours {
		t.Errorf("seen %+v", seen)
	}
}

// TestABeatWithoutANextOne checks that a session ends if a stranger raised its beat so high that it has no next one. Others would take
// all that it says from then on for edits.
func TestABeatWithoutANextOne(t *testing.T) {
	j := newJoiner(t)
	first := j.writes(2 * second)
	j.stored(2*second, first, record.Version{UID: "u", Revision: 11})
	j.dir.Observe(3*second, first.Name, raised(first.Record, record.MaxToken), record.Version{UID: "u", Revision: 12})
	j.Step(3 * second)
	if why, lost := j.Lost(); !lost || why != LostCorrupt {
		t.Errorf("lost %v, %q", lost, why)
	}
}

// TestASessionThatNobodyCanWrite checks that a session is lost if it has lapsed and the store does not accept our writes, even if no
// other member is there to end it. If the store never accepted a write after the first, the next session would fare no better.
func TestASessionThatNobodyCanWrite(t *testing.T) {
	for what, renewed := range map[string]bool{"renewed before": true, "never renewed": false} {
		t.Run(what, func(t *testing.T) {
			j := newJoiner(t)
			version := record.Version{UID: "u", Revision: 11}
			at, beatAt := 2*second, 2*second
			for n := range 2 {
				w := j.writes(at)
				if n == 1 && !renewed {
					j.Unfit(w.Beat)
					j.WriteDone(at, w.Beat, machine.Refused, record.Version{})
					break
				}
				j.stored(at, w, version)
				j.Seen(at, w.Name, &w.Record, version)
				beatAt = at
				at, version.Revision = at+2*second, version.Revision+1
			}
			for lapse := beatAt + record.Instant(j.cfg.Timing.ObserverWait(j.cfg.Timing.LeaseDuration)); at < lapse; at += second {
				actions, _ := j.Step(at)
				for _, a := range actions {
					w := a.(Write)
					j.Unfit(w.Beat)
					j.WriteDone(at, w.Beat, machine.Refused, record.Version{})
				}
				if j.Refused(at) {
					t.Fatalf("refused at %v, before it has lapsed", at)
				}
			}
			if j.Refused(at) != renewed {
				t.Errorf("refused: %v, want %v", !renewed, renewed)
			}
		})
	}
}
