package leaderelection

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// JitterFactor is by how much an elector of client-go stretches its retryPeriod at most. RenewDeadline must be longer
// than that.
const JitterFactor = 1.2

// LeaderElectionConfig says which lock to take, and what to do with it. Lock, the three durations, OnStartedLeading
// and OnStoppedLeading are required.
type LeaderElectionConfig struct {
	// Lock is a *resourcelock.LeaseLock: the Lease, the client and the identity.
	Lock resourcelock.Interface
	// LeaseDuration is how long a renewal lasts; whole seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long after its last renewal the work is told to stop.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two renewals.
	RetryPeriod time.Duration
	Callbacks   LeaderCallbacks
	// WatchDog is told of the elector by RunOrDie; nil for none.
	WatchDog *HealthzAdaptor
	// ReleaseOnCancel says that no work goes on once OnStartedLeading has returned, even if it returned before its
	// context ended: the lock is released then, before OnStoppedLeading. Without it, the lock is released after OnStoppedLeading has
	// returned, since some programs end their work, and their process, only there. If OnStartedLeading returned before its context
	// ended, work that may go on elsewhere also gets three quarters of LeaseDuration - RenewDeadline to end before the release.
	ReleaseOnCancel bool
	// Name is for metrics.
	Name string
	// Coordinated must be false.
	Coordinated bool
}

// LeaderCallbacks are called by an elector.
type LeaderCallbacks struct {
	// OnStartedLeading does the work. Its context ends when the work must stop, and carries the values of Run's.
	// If it returns before that, the elector goes on to lead.
	OnStartedLeading func(context.Context)
	// OnStoppedLeading is called once after each OnStartedLeading has returned. If that does not return, the process
	// ends, and OnStoppedLeading is called shortly before; see Run.
	OnStoppedLeading func()
	// OnNewLeader is called with the identity of each leader that is seen, itself included, one call at a time. It
	// may be nil.
	OnNewLeader func(identity string)
}

func (c *LeaderElectionConfig) check() error {
	switch {
	case c.LeaseDuration <= c.RenewDeadline:
		return errors.New("leaseDuration must be greater than renewDeadline")
	case c.RenewDeadline <= time.Duration(JitterFactor*float64(c.RetryPeriod)):
		return errors.New("renewDeadline must be greater than retryPeriod*JitterFactor")
	case c.RetryPeriod < 1:
		return errors.New("retryPeriod must be greater than zero")
	case c.Callbacks.OnStartedLeading == nil:
		return errors.New("callback OnStartedLeading must not be nil")
	case c.Callbacks.OnStoppedLeading == nil:
		return errors.New("callback OnStoppedLeading must not be nil")
	case c.Lock == nil:
		return errors.New("lock must not be nil")
	case c.Lock.Identity() == "":
		return errors.New("lock identity is empty")
	case c.Coordinated:
		return errors.New("coordinated elections are not supported (set Coordinated to false)")
	}
	return nil
}
