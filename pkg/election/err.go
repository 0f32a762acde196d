package election

import "errors"

// Sentinels of NewManager, Add and Remove, which callers tell apart with errors.Is.
var (
	// ErrInvalid: the Config or the Spec cannot be kept; the error says why.
	ErrInvalid = errors.New("invalid")
	// ErrTaken: another election of this Manager has the name, or uses the lock.
	ErrTaken = errors.New("taken")
	// ErrUnknown: this Manager takes part in no election of that name.
	ErrUnknown = errors.New("no such election")
)

// ErrGoexit is the error of a runner that ended its goroutine, as testing.T.FailNow does.
var ErrGoexit = errors.New("it neither returned nor panicked: it ended its goroutine (runtime.Goexit)")

// sorted is an error that is of a kind, and reads as its cause alone.
type sorted struct{ kind, cause error }

func (e sorted) Error() string   { return e.cause.Error() }
func (e sorted) Unwrap() []error { return []error{e.kind, e.cause} }

// Err returns what Run has returned, or nil while it has not. It is for code that did not call Run itself.
func (m *Manager) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}
