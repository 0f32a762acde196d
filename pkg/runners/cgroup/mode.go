package cgroup

import "errors"

// Mode says when a group is made.
type Mode string

const (
	// Auto: where a service manager has delegated the group of this process. It is the default.
	Auto Mode = "auto"
	// Always: anywhere, and it is an error where that is not possible.
	Always Mode = "always"
	// Never: no group is made.
	Never Mode = "never"
)

// Modes lists every Mode, the default first.
var Modes = []Mode{Auto, Always, Never}

// ErrIndivisible says that no group can be made here.
var ErrIndivisible = errors.New("this process cannot have a control group for its member")
