package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// storm is a set of clients. Each writes a ConfigMap of its own again and again, as soon as the server has
// answered the last write.
type storm struct {
	// stop ends the storm. It returns how many writes there were, and how many of them failed.
	stop func() (writes, failed int64)
}

// startStorm starts the clients.
func (b *bench) startStorm(ctx context.Context, clients int) (*storm, error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var writes, failed atomic.Int64
	for i := range clients {
		core, err := coreclient.NewForConfig(b.cluster.config)
		if err != nil {
			cancel()
			wg.Wait()
			return nil, fmt.Errorf("client: %w", err)
		}
		maps := core.ConfigMaps(namespace)
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("storm-%d", i)}}
		if _, err := maps.Create(ctx, m, metav1.CreateOptions{}); err != nil {
			cancel()
			wg.Wait()
			return nil, fmt.Errorf("storm: %w", err)
		}
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				m.Data = map[string]string{"n": fmt.Sprint(n)}
				if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err == nil {
					writes.Add(1)
				} else if ctx.Err() == nil {
					failed.Add(1)
				}
			}
		})
	}
	return &storm{stop: func() (int64, int64) {
		cancel()
		wg.Wait()
		return writes.Load(), failed.Load()
	}}, nil
}
