package memory_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestConformance(t *testing.T) {
	locktest.Run(t, func(*testing.T) locktest.Realm { return &realm{Realm: memory.New(clock.Boottime())} })
}

// realm is a Realm for the suite.
type realm struct {
	*memory.Realm

	mu     sync.Mutex
	stores []*memory.Store
}

func (r *realm) Store() lock.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.Realm.Store()
	r.stores = append(r.stores, s)
	return s
}

func (r *realm) Edit(name string, edit func(*codec.Object)) (record.Version, error) {
	return r.Realm.Edit(name, edit), nil
}

func (r *realm) Delete(name string) error {
	if !r.Realm.Delete(name) {
		return errors.New("there is none")
	}
	return nil
}

func (r *realm) Raw(name string) (codec.Object, error) {
	o, ok := r.Realm.Raw(name)
	if !ok {
		return o, errors.New("there is none")
	}
	return o, nil
}

func (r *realm) Cut() (mend func()) {
	mended := make(chan struct{})
	wait := func(ctx context.Context, _ memory.Call, op func() error) error {
		select {
		case <-mended:
			return op()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stores {
		s.On(memory.Watch, wait)
		s.On(memory.List, wait)
		s.CutWatches()
	}
	return sync.OnceFunc(func() { close(mended) })
}

func (r *realm) Forget() error {
	r.Compact()
	return nil
}
