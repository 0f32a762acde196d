package cgroup

// Controller is what counts and limits a resource of all processes of a group together.
type Controller string

// Controllers that we use.
const (
	Memory    Controller = "memory"
	Processes Controller = "pids"
)

// Trees says which resources of a whole process tree can be limited below a member's group.
type Trees struct {
	// Held are the controllers of which groups below have the files.
	Held []Controller `json:",omitempty"`
	// Why says why others are not held; empty if none are missing.
	Why string `json:",omitempty"`
}

// Limits are those of a whole process tree. Zero is no limit.
type Limits struct {
	// Memory is in bytes. The kernel kills the whole tree if it needs more.
	Memory uint64 `json:",omitempty"`
	// Processes counts processes and threads. The kernel refuses to make more.
	Processes uint64 `json:",omitempty"`
}

// Hits says what the kernel did because of limits.
type Hits struct {
	// Killed counts processes that were killed because no memory was left. Beyond says that this was not the limit of
	// their own tree: the limit of a group above it, or the whole machine's memory.
	Killed uint64
	Beyond bool
	// Refused counts the processes and threads that were not made.
	Refused uint64
}
