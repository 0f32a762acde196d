package ctrl

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// caches are the informers of all that controllers watch. They begin once the manager runs: controller-runtime (v0.25) does not end at a signal
// while informers that it had before cannot be filled.
type caches struct {
	of cache.Cache

	mu      sync.Mutex
	running bool
	objects []client.Object
}

// add has a kind of object cached.
func (c *caches) add(ctx context.Context, object client.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		c.objects = append(c.objects, object)
		return nil
	}
	return c.begin(ctx, object)
}

func (c *caches) begin(ctx context.Context, object client.Object) error {
	if _, err := c.of.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	return nil
}

// fill waits until all kinds are cached; full is false if ctx ends before, or with an error.
func (c *caches) fill(ctx context.Context) (full bool, err error) {
	if err := c.start(ctx); err != nil {
		return false, err
	}
	return c.of.WaitForCacheSync(ctx), nil
}

func (c *caches) start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = true
	for _, object := range c.objects {
		if err := c.begin(ctx, object); err != nil {
			return err
		}
	}
	return nil
}
