package ctrl

import (
	"context"
	"testing"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// counting is an informer that counts its handlers.
type counting struct {
	cache.Informer
	handlers int
}

func (c *counting) AddEventHandler(toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	c.handlers++
	return registered{}, nil
}

func (c *counting) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	c.handlers--
	return nil
}

type registered struct {
	toolscache.ResourceEventHandlerRegistration
}

// TestStartAfterTheEnd checks that a term leaves no handler with the informer, even if controller-runtime starts a source
// when the term is over: a controller that is told to stop does not wait for its sources.
func TestStartAfterTheEnd(t *testing.T) {
	informer := &counting{}
	ctx, cancel := context.WithCancel(t.Context())
	s := &subscription{informed: informed{informer: informer}}
	cancel()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx, nil); err == nil {
		t.Error("it started after the end of the term")
	}
	if informer.handlers != 0 {
		t.Errorf("%d handlers are left", informer.handlers)
	}
}
