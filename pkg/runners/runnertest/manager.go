package runnertest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

const (
	managerVariable = "RUNNERTEST_MANAGER"
	// managed is the lease duration of a manager that is itself under test; it extends
	// every tenth of that.
	managed = 2500 * time.Millisecond
)

// BecomeManager makes this process a manager that runs the work until it is killed, if its
// environment asks for it. TestMain calls it first, for TestDeath.
func BecomeManager(runner func(w Work) (election.Runner, error)) {
	act := os.Getenv(managerVariable)
	if act == "" {
		return
	}
	time.AfterFunc(lifetime, func() { os.Exit(99) })
	if err := deadman.Adopt(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(97)
	}
	r, err := runner(Work{Act: Act(act), Pipe: os.Getenv(pipeVariable), StopGrace: managed})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	validity := election.NewValidity(now().Add(managed))
	term := election.NewTerm(election.Term{Election: "e", Identity: "host_1", Revision: "1-0", Token: 7, Cycle: 1}, validity)
	enough := make(chan os.Signal, 1)
	signal.Notify(enough, syscall.SIGUSR1)
	go func() { // ends with the process
		for range time.Tick(managed / 10) {
			if len(enough) > 0 {
				return // nothing is extended any more
			}
			deadline := now().Add(managed)
			// Told first: what was told is the latest that may have been granted.
			fmt.Println(strconv.FormatInt(int64(deadline), 10))
			validity.Extend(deadline)
		}
	}()
	err = r.Run(context.Background(), term)
	fmt.Println("ended:", err)
	<-make(chan struct{}) // what the runner did must be seen, not what the end of this process does
}
