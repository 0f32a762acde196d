package app

import (
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// checkLimits says whether limits of runners hold for whole process trees, with members that are started from here.
func (x *checking) checkLimits(of []planned) {
	limited := 0
	for _, e := range of {
		all := slices.Concat(e.weaker, e.missing) // this process has no control group for programs, so each limit is here
		limited += len(slices.DeleteFunc(all, func(e *strict.Error) bool { return !strings.Contains(e.Field, "limits.") }))
	}
	if limited == 0 {
		return
	}
	if trees := cgroup.Survey(); trees.Why != "" {
		x.say("limits", gradeWarning, "systemd: Delegate=yes; elsewhere primacy run --cgroup=always",
			"members started from here hold %s of memory and processes for each process or user by itself, not for a runner's process tree: %s", counted(limited, "limit"), trees.Why)
		return
	}
	x.say("limits", gradeFine, "", "members started from here hold %s of memory and processes for the process trees of runners", counted(limited, "limit"))
}
