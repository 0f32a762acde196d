//go:build linux

package runnertest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

const (
	managerVariable = "RUNNERTEST_MANAGER"
	// managed is the lease duration of a manager that is itself under test; the manager extends its
	// term every tenth of managed.
	managed = 2500 * time.Millisecond
)

// BecomeManager makes this process a manager that runs the work until it is killed, if its
// environment says so. TestMain calls it first, for TestDeath and TestRights.
func BecomeManager(runner func(w Work) (election.Runner, error)) {
	act := os.Getenv(managerVariable)
	if act == "" {
		return
	}
	err := takeRights()
	clock.AfterFunc(lifetime, func() { os.Exit(99) })
	if err == nil {
		err = deadman.Adopt()
	}
	if err == nil {
		err = manage(Act(act), runner)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(98)
}

// manage returns only after an error. With several twists it runs one work for each.
func manage(act Act, runner func(w Work) (election.Runner, error)) error {
	var runs []election.Runner
	for _, twist := range strings.Split(os.Getenv(twistVariable), ",") {
		r, err := runner(Work{Act: act, Pipe: os.Getenv(pipeVariable), StopGrace: managed, Twist: Twist(twist), Folder: os.Getenv(folderVariable)})
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	first := now().Add(managed)
	fmt.Println(strconv.FormatInt(int64(first), 10))
	term, extend := election.NewTerm(election.Term{Election: "e", Identity: "host_1", Revision: "1-0", Token: 7, Cycle: 1}, first)
	enough := make(chan os.Signal, 1)
	signal.Notify(enough, syscall.SIGUSR1)
	go func() { // ends with the process
		for clock.Wait(context.Background(), managed/10) {
			if len(enough) > 0 {
				return // from here on the term is not extended
			}
			deadline := now().Add(managed)
			// Print first: the last printed deadline is the latest that was granted.
			fmt.Println(strconv.FormatInt(int64(deadline), 10))
			extend(deadline)
		}
	}()
	for _, r := range runs {
		go func() { // ends with the process
			err := r.Run(context.Background(), term)
			fmt.Println("ended:", err)
		}()
	}
	select {} // stay: the test must see what the runner does, not the end of this process
}
