package parent

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
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

	file   *os.File
	mu     sync.Mutex
	once   sync.Once
	broken chan struct{}
}

// Note tells the parent something under a name, such as where sessions are stored.
func (l *Line) Note(notes map[string]string) error { return l.tell(message{Notes: notes}) }

// Expect tells the parent of a session, before the member writes it.
func (l *Line) Expect(session, identity string) error {
	return l.tell(message{Session: session, Identity: identity})
}

// Over tells the parent that the member itself has ended the sessions of an identity.
func (l *Line) Over(identity string) error { return l.tell(message{Identity: identity, Over: true}) }

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
