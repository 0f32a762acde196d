package plugin

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// StartError says why a plugin could not be started, or why it is no plugin of ours.
type StartError struct {
	Plugin string
	Err    error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("plugin %s cannot be used: %v (is it a plugin of primacy for %s, of a protocol version that this program knows? the log has what it printed)",
		e.Plugin, e.Err, machine)
}

func (e *StartError) Unwrap() error { return e.Err }

// ExitError says that a plugin's process ended before its term did.
type ExitError struct {
	Plugin string
	Status deadman.Status
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("plugin %s %v before its term ended", e.Plugin, e.Status)
}

// Unwrap returns runners.ErrMemory if the kernel killed it because no memory was left.
func (e *ExitError) Unwrap() error {
	if e.Status.OutOfMemory() {
		return runners.ErrMemory
	}
	return nil
}

// WorkError says why a plugin's work ended, in the plugin's words.
type WorkError struct {
	Plugin, Problem string
}

func (e *WorkError) Error() string {
	if e.Problem == "" {
		return fmt.Sprintf("plugin %s ended its work before its term ended", e.Plugin)
	}
	return fmt.Sprintf("plugin %s: %s", e.Plugin, e.Problem)
}
