package session

import (
	"hash/fnv"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// This file recognizes our own beats in what the stream shows.

type sentBeat struct {
	beat uint64
	at   record.Instant
	// answered is when the store said that it had stored the beat; zero if it did not.
	answered record.Instant
	// renews: it is not the first beat of the session.
	renews bool
	// config and timings are what the beat said of our elections.
	config, timings string
}

// maxSent is how many of our last beats we can still recognize.
const maxSent = 32

// maxUnseen is after how many beats that the stream has not shown yet we tell no more news before the next beat is due. If news
// came faster than the stream shows it, we would recognize none of our beats.
const maxUnseen = maxSent / 2

// longestStride bounds strides such that the beats of a session last for thousands of years.
const longestStride = 1 << 20

// strideOf is by how much the beats of that member rise. Each member has a stride of its own. If a stranger raises our beat by one,
// or by some other round number, the result is not our next beat: we would take it for ours, and for later than it is.
func strideOf(identity string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(identity)) // a hash never fails to write
	return 1 + uint64(h.Sum32()%longestStride)
}

// Seen returns the beat of ours that the stream, or its first list, shows under a name; false if it is none
// of ours, or too old. Locks that our session renews are valid counted from when we sent that beat (rule
// seen-not-assumed). Before the caller uses the beat, it must have handled all records that the same stream
// showed earlier. Once Seen returns a beat, the session exists, even if the write is never answered: terms
// may rely on the session, so it can end (rule a-session-ends-once).
func (o *Own) Seen(now record.Instant, name string, r *record.Record, v record.Version) (machine.Beat, bool) {
	if o.phase == over || name != o.slot || r == nil || !r.Bound() || r.Holder != o.member.Identity || o.uid != "" && o.uid != v.UID {
		return machine.Beat{}, false
	}
	i := slices.IndexFunc(o.sent, func(s sentBeat) bool { return s.beat == r.Mark.Beat })
	if i < 0 {
		return machine.Beat{}, false
	}
	o.sent = o.sent[i:]
	o.dir.provenAt = max(o.dir.provenAt, o.sent[0].at)
	o.renewed = o.renewed || o.sent[0].renews
	o.join(now, v.UID)
	return machine.Beat{Session: name, UID: v.UID, Sent: o.sent[0].at}, true
}

// StoredBy is an instant, now or earlier, at which the store had the beat that Seen returned last.
func (o *Own) StoredBy(now record.Instant) record.Instant {
	if at := o.sent[0].answered; at != 0 {
		return at
	}
	return now
}

// Whole says whether a beat of ours, which Seen has returned, still says of our elections what we sent. A stranger may have taken
// that away.
func (o *Own) Whole(r *record.Record) bool {
	return r.Member != nil && slices.ContainsFunc(o.sent, func(s sentBeat) bool {
		return s.beat == r.Mark.Beat && s.config == r.Member.Config && s.timings == r.Member.Timings
	})
}
