// Package resourcelock makes a lock of a store usable by client-go's elector, for programs that keep that elector:
//
//	l, err := resourcelock.New(lease.In(client, "edge-system"), "scheduler", identity)
//	must(err)
//	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: l, ...})
//
// So such a program can lock a ConfigMap, which client-go itself no longer can, or a lock in memory in its tests.
//
// The elector decides, as ever, and all that client-go does not promise stays so: it releases before its work has ended,
// and its terms have no tokens. Members that share the lock must know of it (election.Spec.Foreign). The lock keeps what
// members have stored beside the holder, such as the last token, so tokens rise across its terms.
package resourcelock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Lock is one lock of a store. Its methods may be called from any goroutine.
type Lock struct {
	store          lock.Store
	name, identity string

	mu   sync.Mutex
	last lock.Entry // as it was read or written last
}

var _ resourcelock.Interface = (*Lock)(nil)

// New makes the lock of the elector with the identity. The identity must not have the form of members' identities, for
// members would take the elector for one of them.
func New(store lock.Store, name, identity string) (*Lock, error) {
	switch {
	case identity == "":
		return nil, errors.New("the elector has no identity")
	case record.OurForm(identity):
		return nil, fmt.Errorf("identity %q has the form of a member's identity (let it end otherwise than in _ and 8 hex digits)", identity)
	}
	return &Lock{store: store, name: name, identity: identity}, nil
}

// Get implements resourcelock.Interface.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	e, err := l.store.Get(ctx, l.name)
	if err != nil {
		return nil, nil, err
	}
	if e.Absent() {
		return nil, nil, l.apiError(lock.ErrVanished)
	}
	l.mu.Lock()
	l.last = e
	l.mu.Unlock()
	r := &resourcelock.LeaderElectionRecord{
		HolderIdentity: e.Record.Holder, LeaseDurationSeconds: int(e.Record.Duration / time.Second),
		AcquireTime: metav1.NewTime(e.Record.Acquired), RenewTime: metav1.NewTime(e.Record.Renewed), LeaderTransitions: e.Record.Transitions,
	}
	// The elector knows a renewal by other bytes. The version changes with each write, times may not.
	raw, err := json.Marshal(e.Version)
	return r, raw, err
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.put(ctx, r, lock.Entry{})
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if last.Absent() {
		return errors.New("lock was not read yet (call Get or Create first)")
	}
	return l.put(ctx, r, last)
}

func (l *Lock) put(ctx context.Context, r resourcelock.LeaderElectionRecord, replaces lock.Entry) error {
	var to record.Record
	if !replaces.Absent() {
		to = *replaces.Record
	}
	to.Holder, to.Duration = r.HolderIdentity, time.Duration(r.LeaseDurationSeconds)*time.Second
	to.Acquired, to.Renewed, to.Transitions = r.AcquireTime.Time, r.RenewTime.Time, r.LeaderTransitions
	v, err := l.store.Put(ctx, l.name, to, replaces.Version)
	if err != nil {
		return l.apiError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = lock.Entry{Name: l.name, Record: &to, Version: v}
	return nil
}

// apiError makes an error of a store one that the elector knows: it treats absences and conflicts by their kind.
func (l *Lock) apiError(err error) error {
	kind := coordinationv1.Resource("locks")
	switch {
	case errors.Is(err, lock.ErrVanished):
		return apierrors.NewNotFound(kind, l.name)
	case errors.Is(err, lock.ErrExists):
		return apierrors.NewAlreadyExists(kind, l.name)
	case errors.Is(err, lock.ErrConflict):
		return apierrors.NewConflict(kind, l.name, err)
	}
	return err
}

// RecordEvent implements resourcelock.Interface. It makes no events.
func (l *Lock) RecordEvent(string) {}

// Identity implements resourcelock.Interface.
func (l *Lock) Identity() string { return l.identity }

// Describe implements resourcelock.Interface.
func (l *Lock) Describe() string { return l.name }
