package session

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// late is a directory and one session. Answers, reads, lists and the stream show that session in any order.
type late struct {
	*Directory
	name string
}

func newLate(t *testing.T) *late {
	return &late{NewDirectory("g", newSlots(t).timing), SlotName("g", "h", 0)}
}

func (l *late) of(revision uint64) (*record.Record, record.Version) {
	return &record.Record{Holder: "h_1", Group: "g"}, record.Version{UID: "u", Revision: revision}
}

func (l *late) shown(revisions ...uint64) (all []Shown) {
	for _, v := range revisions {
		r, v := l.of(v)
		all = append(all, Shown{Name: l.name, Record: r, Version: v})
	}
	return all
}

func (l *late) reply(now record.Instant, revision uint64) {
	r, v := l.of(revision)
	l.Observe(now, l.name, r, v)
}

func (l *late) deleted(now record.Instant, revision uint64) {
	l.Observe(now, l.name, nil, record.Version{Revision: revision})
}

func (l *late) read(now, sent record.Instant, revision uint64) (consistent bool) {
	r, v := l.of(revision)
	return l.Read(now, sent, l.name, r, v)
}

// TestWhatWasDeletedStaysDeleted checks that, after the stream showed a session deleted, late news from
// before the deletion does not bring the session back; news from after the deletion does.
func TestWhatWasDeletedStaysDeleted(t *testing.T) {
	for what, tell := range map[string]func(*late, uint64){
		"a reply": func(l *late, v uint64) { l.reply(4*second, v) },
		"a read": func(l *late, v uint64) {
			if !l.read(4*second, 2*second, v) {
				t.Error("a read that was sent before the deletion was seen passes for a restore")
			}
		},
	} {
		for _, known := range []bool{true, false} {
			l := newLate(t)
			l.List(1*second, 1*second, 10, l.shown()) // none
			if known {
				l.reply(1*second, 20)
			}
			l.deleted(3*second, 30)
			if tell(l, 25); l.slot(l.name) != nil {
				t.Errorf("%s of before the deletion brings it back (known before: %v)", what, known)
			}
			if tell(l, 31); l.slot(l.name) == nil {
				t.Errorf("%s of after the deletion is not believed", what)
			}
		}
	}
}

// TestWhatAListLacksStaysAway checks that an answer does not bring back a session that a later list lacks.
func TestWhatAListLacksStaysAway(t *testing.T) {
	l := newLate(t)
	l.List(1*second, 1*second, 10, l.shown(5))
	l.List(3*second, 3*second, 30, nil)
	if l.reply(4*second, 20); l.slot(l.name) != nil {
		t.Error("it is back")
	}
}

// TestWhatWasDeletedReturns checks that we take the store to be restored if a request that we sent after we
// saw a deletion shows the older object.
func TestWhatWasDeletedReturns(t *testing.T) {
	restored := func() *late {
		l := newLate(t)
		l.List(1*second, 1*second, 10, l.shown(5))
		l.deleted(3*second, 30)
		return l
	}
	if l := restored(); l.List(5*second, 4*second, 40, l.shown(20)) {
		t.Error("a list shows what was deleted")
	}
	if l := restored(); l.List(5*second, 4*second, 20, nil) {
		t.Error("a list is of before what the stream has shown")
	}
	if l := restored(); !l.List(5*second, 2*second, 20, nil) {
		t.Error("a list that was asked for before passes for a restore")
	}
	if restored().read(5*second, 4*second, 20) {
		t.Error("a read shows what was deleted")
	}
	if l := restored(); !l.List(5*second, 4*second, 40, l.shown(35)) || !l.read(7*second, 6*second, 35) {
		t.Error("what was made since passes for a restore")
	}
}

// TestAListOfBeforeASession checks that we take the store to be restored if a list that we requested after we
// saw a session is from before the session was made. A list requested earlier proves nothing, and removes
// nothing.
func TestAListOfBeforeASession(t *testing.T) {
	for _, c := range []struct {
		sent       record.Instant
		consistent bool
	}{{4 * second, false}, {2 * second, true}} {
		l := newLate(t)
		l.List(1*second, 1*second, 5, nil)
		l.reply(3*second, 20)
		if got := l.List(5*second, c.sent, 10, nil); got != c.consistent || l.slot(l.name) == nil {
			t.Errorf("asked for at %v: consistent %v, kept %v", c.sent, got, l.slot(l.name) != nil)
		}
	}
}

// TestAReadOfBeforeASession checks that a read that found nothing removes only what we saw before we sent the
// read.
func TestAReadOfBeforeASession(t *testing.T) {
	for sent, kept := range map[record.Instant]bool{2 * second: true, 4 * second: false} {
		l := newLate(t)
		l.List(1*second, 1*second, 10, nil)
		l.reply(3*second, 20)
		l.Read(5*second, sent, l.name, nil, record.Version{})
		if got := l.slot(l.name) != nil; got != kept {
			t.Errorf("sent at %v: kept %v", sent, got)
		}
	}
}
