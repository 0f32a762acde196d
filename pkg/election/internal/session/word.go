package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Word is somebody's word that a member is dead, and what reads of the member's session have shown since (rule
// words-need-silence). A host sends the reads and the write, each conditional on what Word says. Word itself has no
// clock and no store, so what the simulator steps is what runs.
type Word struct {
	seen  Shown
	death record.Death
	quiet time.Duration
	// since is when the silence began, and answered when the last read was answered. cut: a read has failed since.
	since, answered record.Instant
	cut             bool
}

// CheckWord checks whether a word may end the session that seen shows: it is that of d.Identity, and accepts the kind
// of word. It returns how long the session must be silent.
func CheckWord(seen Shown, d record.Death) (quiet time.Duration, err error) {
	switch {
	case seen.Record == nil:
		return 0, errors.New("it does not exist")
	case !d.Proof.IsWord():
		return 0, fmt.Errorf("a %s's proof is no word", d.Proof)
	}
	if _, err := Bury(seen.Record, seen.Version, witnessed(seen, d)); err != nil {
		return 0, err
	}
	return Quiet(seen.Record)
}

// witnessed is the death with the beat that was the session's last one when it was seen.
func witnessed(seen Shown, d record.Death) record.Death {
	d.UID, d.Beat = seen.Version.UID, 0
	if seen.Record.Mark != nil {
		d.Beat = seen.Record.Mark.Beat
	}
	return d
}

// Hear begins to wait for the silence of the session that seen shows, as a read showed it before the word or with it.
// The error says why the word does not count.
func Hear(now record.Instant, seen Shown, d record.Death) (*Word, error) {
	quiet, err := CheckWord(seen, d)
	if err != nil {
		return nil, err
	}
	return &Word{seen: seen, death: witnessed(seen, d), quiet: quiet, since: now, answered: now}, nil
}

// Pause is the pause between two reads.
func (w *Word) Pause() time.Duration { return min(longestPause, w.quiet/8) }

// longestPause is the longest pause between two reads of a session that should be silent.
const longestPause = 250 * time.Millisecond

// Failed tells the Word that a read has failed. The store may have answered nobody, so the member could not beat.
func (w *Word) Failed() { w.cut = true }

// Heard is what a read means for a Word.
type Heard int

const (
	// Wait: read again after a Pause.
	Wait Heard = iota + 1
	// PutEnd: put the record in place of the very version that was seen. If that fails, go on as with Wait.
	PutEnd
	// Over: the session of the member has ended, whoever ended it.
	Over
)

// Answered tells the Word what a consistent read, sent at the instant sent and answered now, has shown. With PutEnd, the
// record is the end of the session. The error says that the word does not count, now or later; it wraps ErrRefuted if
// the session has changed.
func (w *Word) Answered(sent, now record.Instant, e Shown) (Heard, record.Record, error) {
	if w.cut || now.Sub(w.answered) > w.quiet/2 {
		w.since = now // the store may have answered nobody until now, so the member could not beat
	}
	w.answered, w.cut = now, false
	switch {
	case e.Record == nil || e.Version.UID != w.seen.Version.UID:
		return 0, record.Record{}, fmt.Errorf("%w, or somebody edits its session: it was deleted, or made anew", ErrRefuted)
	case e.Record.Bound() && e.Record.Holder != w.death.Identity:
		return Over, record.Record{}, nil
	case e.Version != w.seen.Version:
		return 0, record.Record{}, changed(w.seen, e)
	case sent.Sub(w.since) < w.quiet:
		return Wait, record.Record{}, nil
	}
	d := w.death
	d.How = fmt.Sprintf("%s, and was silent for %v", d.How, sent.Sub(w.since).Round(time.Millisecond))
	end, err := Bury(e.Record, e.Version, d)
	if err != nil {
		return 0, record.Record{}, err
	}
	return PutEnd, end, nil
}

// Seen is the version of the session that the word is about, which the write must replace.
func (w *Word) Seen() record.Version { return w.seen.Version }

// changed says how a session that was said to be dead has changed.
func changed(seen, now Shown) error {
	beat := witnessed(now, record.Death{}).Beat
	if was := witnessed(seen, record.Death{}).Beat; beat == was {
		return fmt.Errorf("%w, or somebody edits its session: it has changed since beat %d", ErrRefuted, was)
	}
	return fmt.Errorf("%w: its beat %d has come, written at %s by its own clock", ErrRefuted, beat, now.Record.Renewed.Format(time.RFC3339))
}

// Taint is a taint that says that a node is switched off: the word of an operator about all members there.
type Taint struct {
	// NodeUID and BootID are those of the node when the taint came, and At is the version that the write of the taint got.
	NodeUID, BootID string
	At              uint64
}

// SpeaksOf says whether the taint speaks of a session of the group: it ran on that node in that boot, accepts such words,
// and has not changed since the taint.
func (t Taint) SpeaksOf(group string, e Shown) bool {
	r := e.Record
	if r == nil || !r.Bound() || r.Holder == "" || r.Member == nil || r.Group != group || !slices.Contains(r.Member.Proofs, record.ProofOutOfService) {
		return false
	}
	of := r.Member.Container
	return of.NodeUID == t.NodeUID && of.BootID == t.BootID && e.Version.Revision < t.At
}
