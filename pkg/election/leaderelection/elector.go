package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// LeaderElector takes part in one election. Its methods may be called from any goroutine; Run must not be called
// while it runs.
type LeaderElector struct {
	config   LeaderElectionConfig
	settings *settings
	metric   LeaderMetric
	present  atomic.Pointer[present]
}

// present is what Run has made.
type present struct {
	manager *election.Manager
	status  *election.Status
}

// NewLeaderElector checks the configuration, and starts nothing.
func NewLeaderElector(lec LeaderElectionConfig) (*LeaderElector, error) {
	if err := lec.check(); err != nil {
		return nil, err
	}
	s, err := lec.settings()
	if err != nil {
		return nil, err
	}
	le := &LeaderElector{config: lec, settings: s, metric: newMetric()}
	if _, _, err := le.manager(nil); err != nil {
		return nil, err
	}
	le.metric.Off(lec.Name)
	return le, nil
}

// RunOrDie makes an elector and runs it. It panics if the configuration is not valid.
func RunOrDie(ctx context.Context, lec LeaderElectionConfig) {
	le, err := NewLeaderElector(lec)
	if err != nil {
		panic(err)
	}
	if lec.WatchDog != nil {
		lec.WatchDog.SetLeaderElection(le)
	}
	le.Run(ctx)
}

// manager makes what one Run needs.
func (le *LeaderElector) manager(work election.Runner) (*election.Manager, *election.Status, error) {
	config := le.settings.config
	config.Locks = realm()
	m, err := election.NewManager(config)
	if err != nil {
		return nil, nil, err
	}
	status, err := m.Add(le.settings.spec, work)
	return m, status, err
}

// Run takes part until ctx ends, or until this elector has led and leads no more. It returns once OnStartedLeading
// and OnStoppedLeading have returned, and the lock is released.
//
// If OnStartedLeading does not return within three quarters of LeaseDuration - RenewDeadline after its context ended, or
// within 10 s, the process has to end. Then Run shortens the lease to a second, calls OnStoppedLeading, and ends the
// process within that second with exit status 70, if OnStoppedLeading has not ended it. Without ReleaseOnCancel the
// process ends with that status, too, if OnStoppedLeading has not returned LeaseDuration - RenewDeadline after that context ended.
func (le *LeaderElector) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("lock", le.config.Lock.Describe())
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	t := &tenure{elector: le, logger: logger, leave: leave, ended: make(chan struct{})}
	m, status, err := le.manager(election.RunnerFunc(t.lead))
	if err != nil {
		logger.Error(err, "Leader election cannot start") // it could when the elector was made
		return
	}
	le.present.Store(&present{manager: m, status: status})
	le.follow(status)
	logger.Info("Attempting to acquire leader lease...")

	var running sync.WaitGroup
	defer running.Wait()
	gone := make(chan struct{})
	running.Go(func() {
		defer close(gone)
		if err := m.Run(ctx); err != nil {
			logger.Error(err, "Leader election ended")
		}
	})
	select {
	case <-gone:
	case <-t.ended:
		// The release follows. The store may be away; then OnStoppedLeading must not wait for it.
		patience := clock.NewTimer(le.config.RenewDeadline)
		defer patience.Stop()
		select {
		case <-gone:
		case <-patience.C:
		}
	}
	t.stopped()
}

// follow tells OnNewLeader of leaders until the status is closed. A callback that does not return holds up nobody
// but its successors.
func (le *LeaderElector) follow(status *election.Status) {
	if le.config.Callbacks.OnNewLeader == nil {
		return
	}
	seen := status.Watch(context.Background())
	go func() { // nobody joins it, since callbacks may block; it ends after Run
		last := ""
		for t := range seen {
			if t.Leader.Identity == "" {
				continue
			}
			if name := le.settings.names.Of(t.Leader.Identity); name != last {
				last = name
				le.config.Callbacks.OnNewLeader(name)
			}
		}
	}()
}

// tenure is the one term of a Run.
type tenure struct {
	elector *LeaderElector
	logger  klog.Logger
	leave   context.CancelFunc
	// ended is closed when the work is over.
	ended chan struct{}
	// started: OnStartedLeading was called; told: OnStoppedLeading was.
	started, told atomic.Bool
}

// lead is the work of the term.
func (t *tenure) lead(ctx context.Context, term election.Term) error {
	if t.started.Swap(true) {
		return nil // the elector leaves already
	}
	defer t.leave()
	defer close(t.ended)
	le := t.elector
	le.metric.On(le.config.Name)
	defer le.metric.Off(le.config.Name)
	t.logger.Info("Successfully acquired lease")
	le.record("became leader")
	defer le.record("stopped leading")

	returned := make(chan struct{})
	go func() { // joined below, or by the end of the process
		defer close(returned)
		le.config.Callbacks.OnStartedLeading(ctx)
	}()
	early := false
	select {
	case <-returned:
		early = ctx.Err() == nil
	case <-ctx.Done():
	}
	<-ctx.Done()
	stop, _ := election.StopOf(ctx)
	t.logger.Info("Stopped leading", "reason", stop.Reason)
	grace := le.settings.config.Timing.StopGrace
	patience := clock.NewTimer(min(grace*3/4, longestPatience))
	defer patience.Stop()
	select {
	case <-returned:
	case <-patience.C:
		t.lastWords(term.Identity)
	}
	if le.config.ReleaseOnCancel {
		return nil
	}
	t.stoppedApart() // the work may end only there, with the process
	if early {
		clock.Wait(context.Background(), clock.Until(clock.Boottime(), stop.By.Add(-grace/4)))
	}
	return nil
}

// stoppedApart calls OnStoppedLeading on a goroutine of its own, and waits for it. The Manager would recover a panic here.
func (t *tenure) stoppedApart() {
	over := make(chan struct{})
	go func() { // joined below
		defer close(over)
		t.stopped()
	}()
	<-over
}

// longestPatience is how long work may take to stop at most: Pods get 30 s by default.
const longestPatience = 10 * time.Second

// stopped calls OnStoppedLeading, once, if OnStartedLeading was called.
func (t *tenure) stopped() {
	if t.started.Load() && !t.told.Swap(true) {
		t.elector.config.Callbacks.OnStoppedLeading()
	}
}

// lastWords ends the process, since its work does not.
func (t *tenure) lastWords(identity string) {
	exitWithin(notice * 3 / 4)
	s := t.elector.settings
	t.logger.Error(nil, "OnStartedLeading does not return though its context has ended: the process ends within a second")
	ctx, cancel := context.WithTimeout(context.Background(), notice/2)
	defer cancel()
	if err := s.locks.goodbye(ctx, s.spec.Lock, identity); err != nil {
		t.logger.Error(err, "The others have to wait for the whole lease")
	}
	t.stopped()
	klog.FlushAndExit(lastLogTime, exitAborted)
}

// exitWithin ends the process after d, whatever blocks.
func exitWithin(d time.Duration) { clock.AfterFunc(d, func() { os.Exit(exitAborted) }) }

// record makes an event, if the lock has a recorder.
func (le *LeaderElector) record(what string) {
	l := le.settings.lock
	if l.LockConfig.EventRecorder == nil {
		return
	}
	patience := min(le.config.RetryPeriod, le.settings.config.Timing.StopGrace/8) // the term may wait for this
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, _, err := l.Get(ctx); err == nil { // the event names the Lease that the lock has read
		l.RecordEvent(what)
	}
}

// GetLeader returns the identity of the last leader that was seen, as its user gave it; empty if there is none.
func (le *LeaderElector) GetLeader() string {
	now := le.present.Load()
	if now == nil {
		return ""
	}
	return le.settings.names.Of(now.status.Leader().Identity)
}

// IsLeader says whether this elector leads at this moment.
func (le *LeaderElector) IsLeader() bool {
	now := le.present.Load()
	return now != nil && now.status.IsLeader()
}

// Check says whether this process should be started again: its elector is stuck, or work goes on that had to be
// dead, or it leads by a renewal that is older than LeaseDuration + maxTolerableExpiredLease. It returns nil before Run
// and once the work has ended and the lock is released, even if OnStoppedLeading still runs.
func (le *LeaderElector) Check(maxTolerableExpiredLease time.Duration) error {
	now := le.present.Load()
	if now == nil {
		return nil
	}
	err := now.manager.Check((*http.Request)(nil))
	switch {
	case errors.Is(err, election.ErrStopped):
		return nil // no work goes on
	case err != nil:
		return fmt.Errorf("leader election on lease %s: %w", le.config.Name, err)
	}
	if since, leads := now.status.SinceRenewal(); leads && since > le.config.LeaseDuration+maxTolerableExpiredLease {
		return fmt.Errorf("failed election to renew leadership on lease %s", le.config.Name)
	}
	return nil
}
