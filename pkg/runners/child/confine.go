//go:build linux

package child

import (
	"cmp"
	"embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// User is the user and group that a program runs as.
type User struct {
	// The number of the user.
	UID uint32 `yaml:"uid" strict:"required"`
	// The number of the group.
	GID uint32 `yaml:"gid" strict:"required"`
}

// Limits bound what a program may use. A zero field means this process's own limit, except for
// Core: zero means no core dumps. Memory and Processes hold for the program together with all that it
// starts where it has a control group with limits of its own (deadman.Trees); elsewhere they are those of
// setrlimit(2), too.
type Limits struct {
	// Files that each process may have open. 8 at least.
	OpenFiles int `yaml:"openFiles" otherwise:"no limit of its own" min:"0"`
	// Its memory, together with all that it starts, where members have [control groups](runners.md#limits-of-a-process-tree). Elsewhere the address space of each process.
	Memory Size `yaml:"memory" otherwise:"no limit of its own"`
	// Time of work of each process, not of the clock. Whole seconds.
	CPUTime time.Duration `yaml:"cpuTime" otherwise:"no limit of its own"`
	// Processes and threads, together with all that it starts, where members have [control groups](runners.md#limits-of-a-process-tree). Elsewhere those of its user, whoever started them; that does not bind root.
	Processes int `yaml:"processes" otherwise:"no limit of its own" min:"0"`
	// The size of a core dump.
	Core Size `yaml:"core" otherwise:"no core dumps"`
}

// Size is a number of bytes, written as 4096 or 512Mi.
type Size uint64

// Schema describes a size.
func (Size) Schema() *schema.Schema {
	return &schema.Schema{Called: "size in bytes, such as `4096` or `512Mi`", Either: []*schema.Schema{
		{Type: "integer", Min: new(float64)}, {Type: "string", Patterns: []string{"^[0-9]+(Ki|Mi|Gi)?$"}},
	}}
}

//go:embed confine.go environment.go limited.go
var comments embed.FS

// Comments has the source whose comments describe the keys of this package's types.
func Comments() embed.FS { return comments }

var units = []struct {
	name string
	size uint64
}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}}

// DecodeStrict reads a size.
func (s *Size) DecodeStrict(node *yaml.Node) error {
	number, unit := node.Value, uint64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = rest, u.size
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || node.Kind != yaml.ScalarNode || n > math.MaxInt64/unit {
		return strict.NewError(node, "", fmt.Sprintf("%q is no size", node.Value), "a number of bytes, or with Ki, Mi or Gi behind it, such as 512Mi")
	}
	*s = Size(n * unit)
	return nil
}

// leastFiles is how many files even a program that does nothing has open.
const leastFiles = 8

// holds says whether a limit holds for a program together with all that it starts.
func holds(c cgroup.Controller) bool { return slices.Contains(deadman.Trees().Held, c) }

// tree returns the limits that hold for a program together with all that it starts.
func (l Limits) tree() (t cgroup.Limits) {
	if holds(cgroup.Memory) {
		t.Memory = uint64(l.Memory)
	}
	if holds(cgroup.Processes) {
		t.Processes = uint64(max(0, l.Processes))
	}
	return t
}

// list returns the limits that are set and hold for each process, in the kernel's terms.
func (l Limits) list() []limit {
	var list []limit
	add := func(field string, r deadman.Resource, n, beyond uint64) {
		if n > 0 {
			list = append(list, limit{"limits." + field, deadman.Limit{Resource: r, Soft: n, Hard: n + beyond}})
		}
	}
	add("openFiles", deadman.OpenFiles, uint64(max(0, l.OpenFiles)), 0)
	if !holds(cgroup.Memory) {
		add("memory", deadman.AddressSpace, uint64(l.Memory), 0)
	}
	// One second after SIGXCPU the kernel kills a program that survives it.
	add("cpuTime", deadman.CPUSeconds, uint64(max(0, l.CPUTime)/time.Second), 1)
	if !holds(cgroup.Processes) {
		add("processes", deadman.Processes, uint64(max(0, l.Processes)), 0)
	}
	add("core", deadman.CoreBytes, uint64(l.Core), 0)
	return list
}

type limit struct {
	field string
	deadman.Limit
}

// Confine returns a Confinement with the given user (nil for none) and limits.
func Confine(user *User, limits Limits) deadman.Confinement {
	var c deadman.Confinement
	if user != nil {
		c.User = &deadman.User{UID: user.UID, GID: user.GID}
	}
	for _, l := range limits.list() {
		c.Limits = append(c.Limits, l.Limit)
	}
	c.Tree = limits.tree()
	return c
}

// CheckTree reports which limits do not hold for a program together with all that it starts. It calls missing for those
// that do not hold at all then, and weaker for the others. node is the block that holds user and limits.
func CheckTree(node *yaml.Node, user *User, limits Limits, missing, weaker func(error)) {
	why := cmp.Or(deadman.Trees().Why, "this process has no control group for programs")
	say := func(to func(error), field, problem, hint string) {
		at, _ := strict.Lookup(node, field)
		to(strict.NewError(at, field, problem, hint))
	}
	if limits.Memory > 0 && !holds(cgroup.Memory) {
		say(weaker, "limits.memory", "bounds the address space of each process by itself: "+why, treeHint)
	}
	if limits.Processes <= 0 || holds(cgroup.Processes) {
		return
	}
	if (user == nil || user.UID == 0) && deadman.Privileged() {
		say(missing, "limits.processes", "does not bind root: "+why, "set user, too; or "+treeHint)
		return
	}
	say(weaker, "limits.processes", "counts all processes of its user, whoever started them: "+why, treeHint)
}

const treeHint = "give primacy a control group that it may divide, such as with Delegate=yes of systemd"

// CheckConfinement reports which parts of user and limits cannot be set, before a program starts with
// them. node is the block that holds user and limits.
func CheckConfinement(node *yaml.Node, user *User, limits Limits) (errs strict.Errors) {
	fail := func(field, problem, hint string) {
		at, _ := strict.Lookup(node, field)
		errs = append(errs, strict.NewError(at, field, problem, hint))
	}
	if user != nil {
		checkUser(*user, fail)
	} else if err := deadman.CanKill(); err != nil {
		fail("", "cannot run programs: "+err.Error(),
			"give it CAP_KILL as well, or take CAP_SETUID from it (securityContext.capabilities)")
	}
	if n := limits.OpenFiles; n != 0 && n < leastFiles {
		fail("limits.openFiles", fmt.Sprintf("%d are too few for any program", n), fmt.Sprintf("at least %d; leave it out for no limit of its own", leastFiles))
	}
	if n := limits.Processes; n < 0 {
		fail("limits.processes", fmt.Sprintf("%d is negative", n), "leave it out for no limit of its own")
	}
	if d := limits.CPUTime; d < 0 || d%time.Second != 0 {
		fail("limits.cpuTime", fmt.Sprintf("%v is no number of whole seconds", d), "such as 30s; it is time of work, not of the clock")
	}
	for _, l := range limits.list() {
		most, err := deadman.HardLimit(l.Resource)
		switch {
		case err != nil:
			fail(l.field, err.Error(), "")
		case l.Hard > most:
			fail(l.field, fmt.Sprintf("is more than this process itself may have, which is %d", most), "lower it, or raise primacy's own limit (ulimit -H)")
		}
	}
	return errs
}

func checkUser(u User, fail func(field, problem, hint string)) {
	if u.UID == math.MaxUint32 || u.GID == math.MaxUint32 {
		fail("user", fmt.Sprintf("%d stands for no change", uint32(math.MaxUint32)), "give the number of a user and of a group")
	}
	lacks, err := deadman.Lacks()
	switch {
	case err != nil:
		fail("user", err.Error(), "")
	case lacks != "":
		fail("user", "primacy may not start, and kill, programs of another user: it lacks "+lacks,
			"run it as root or with these capabilities, or leave user out and run primacy itself as that user")
	}
}
