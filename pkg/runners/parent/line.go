//go:build linux

package parent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// message is what a member tells its parent: a line of JSON.
type message struct {
	// Notes replace the notes of the same names.
	Notes map[string]string `json:"notes,omitempty"`
	// Session is about to be created by Identity.
	Session  string `json:"session,omitempty"`
	Identity string `json:"identity,omitempty"`
	// Over: the session of Identity has ended, or never will exist.
	Over bool `json:"over,omitempty"`
}

// Line is how a member tells its parent what the parent must know once the member is dead. Any goroutine may
// use it.
type Line struct {
	// Cgroup is the path of the control group that the member has for itself; empty if it has none.
	Cgroup string
	// Left are the sessions of members that were killed together with their parents, and had control groups here. The
	// groups are empty, and their makers dead.
	Left []Session
	// LivesOn says what was left of such members, and could not be killed: nothing is proved of these.
	LivesOn []string

	// expected are the sessions that the control group notes.
	expected []Session

	file   *os.File
	mu     sync.Mutex
	once   sync.Once
	broken chan struct{}
}

// Note tells the parent something under a name, such as where sessions are stored.
func (l *Line) Note(notes map[string]string) error { return l.tell(message{Notes: notes}) }

// Expect tells the parent of a session, before the member writes it. The member's control group notes it, too.
func (l *Line) Expect(session, identity string) error {
	return errors.Join(l.tell(message{Session: session, Identity: identity}), l.note(func(all []Session) []Session {
		return append(all, Session{session, identity})
	}))
}

// Over tells the parent that the member itself has ended the sessions of an identity.
func (l *Line) Over(identity string) error {
	return errors.Join(l.tell(message{Identity: identity, Over: true}), l.note(func(all []Session) []Session {
		return slices.DeleteFunc(all, func(s Session) bool { return s.Identity == identity })
	}))
}

// note changes what the control group notes.
func (l *Line) note(change func([]Session) []Session) error {
	if l.Cgroup == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = change(l.expected)
	if most := len(l.expected) - mostNoted; most > 0 { // the latest are most likely alive
		l.expected = l.expected[most:]
	}
	text, err := json.Marshal(l.expected)
	if err != nil {
		return err
	}
	return cgroup.Note(l.Cgroup, text)
}

// mostNoted is how many sessions a control group notes.
const mostNoted = 4

// sessionsIn are the sessions of which notes tell.
func sessionsIn(notes [][]byte) (all []Session) {
	for _, text := range notes {
		var of []Session
		if json.Unmarshal(text, &of) == nil { // others than we may write notes
			all = append(all, of...)
		}
	}
	return all
}

func (l *Line) tell(m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("tell the parent process: %w", err)
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("tell the parent process: %w", err)
	}
	return nil
}

// patience is how long a parent that stands still may hold its member up, once the line between them is full.
const patience = time.Second

// Broken is closed when the parent has died. Nobody can prove this process's death any more.
func (l *Line) Broken() <-chan struct{} {
	l.once.Do(func() {
		go func() {
			defer close(l.broken)
			var none [1]byte
			for {
				if _, err := l.file.Read(none[:]); err != nil {
					return
				}
			}
		}()
	})
	return l.broken
}
