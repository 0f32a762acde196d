// Package mapstest keeps the ConfigMaps of a namespace in memory, so that a whole group with its
// pins, rollouts and default revision can live in a synctest bubble.
package mapstest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Maps are the ConfigMaps of one namespace. Writes compare and swap as the API server does. Lists and
// watches show only the object that the field selector names. Other methods panic.
type Maps struct {
	coreclient.ConfigMapInterface

	mu       sync.Mutex
	revision int
	objects  map[string]*corev1.ConfigMap
	history  []watch.Event
	changed  chan struct{} // closed when history grows
}

// New makes a namespace without ConfigMaps.
func New() *Maps {
	return &Maps{objects: map[string]*corev1.ConfigMap{}, changed: make(chan struct{})}
}

var (
	_ coreclient.ConfigMapsGetter   = (*Maps)(nil)
	_ coreclient.ConfigMapInterface = (*Maps)(nil)

	mapResource = schema.GroupResource{Resource: "configmaps"}
)

// ConfigMaps implements coreclient.ConfigMapsGetter. It ignores the name: there is one namespace.
func (m *Maps) ConfigMaps(string) coreclient.ConfigMapInterface { return m }

// Get implements coreclient.ConfigMapInterface.
func (m *Maps) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cm := m.objects[name]
	if cm == nil {
		return nil, apierrors.NewNotFound(mapResource, name)
	}
	return cm.DeepCopy(), nil
}

// Create implements coreclient.ConfigMapInterface.
func (m *Maps) Create(_ context.Context, cm *corev1.ConfigMap, _ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects[cm.Name] != nil {
		return nil, apierrors.NewAlreadyExists(mapResource, cm.Name)
	}
	cm = cm.DeepCopy()
	cm.UID = types.UID(fmt.Sprintf("uid-%d", m.revision+1))
	return m.keepLocked(watch.Added, cm), nil
}

// Update implements coreclient.ConfigMapInterface.
func (m *Maps) Update(_ context.Context, cm *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.objects[cm.Name]
	switch {
	case old == nil:
		return nil, apierrors.NewNotFound(mapResource, cm.Name)
	case old.ResourceVersion != cm.ResourceVersion || old.UID != cm.UID:
		return nil, apierrors.NewConflict(mapResource, cm.Name, fmt.Errorf("it is at %s", old.ResourceVersion))
	}
	return m.keepLocked(watch.Modified, cm.DeepCopy()), nil
}

// Delete implements coreclient.ConfigMapInterface.
func (m *Maps) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	cm := m.objects[name]
	if cm == nil {
		return apierrors.NewNotFound(mapResource, name)
	}
	m.keepLocked(watch.Deleted, cm.DeepCopy())
	delete(m.objects, name)
	return nil
}

// keepLocked stores an object, or records its deletion, and returns a copy.
func (m *Maps) keepLocked(kind watch.EventType, cm *corev1.ConfigMap) *corev1.ConfigMap {
	m.revision++
	cm.ResourceVersion = strconv.Itoa(m.revision)
	m.objects[cm.Name] = cm
	m.history = append(m.history, watch.Event{Type: kind, Object: cm})
	close(m.changed)
	m.changed = make(chan struct{})
	return cm.DeepCopy()
}

// named returns the name that a field selector asks for.
func named(o metav1.ListOptions) string {
	return strings.TrimPrefix(o.FieldSelector, "metadata.name=")
}

// List implements coreclient.ConfigMapInterface.
func (m *Maps) List(_ context.Context, o metav1.ListOptions) (*corev1.ConfigMapList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(m.revision)}}
	if cm := m.objects[named(o)]; cm != nil {
		list.Items = append(list.Items, *cm.DeepCopy())
	}
	return list, nil
}

// Watch implements coreclient.ConfigMapInterface. Its goroutine ends with the watch or with ctx.
func (m *Maps) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	after, err := strconv.Atoi(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	events := make(chan watch.Event)
	w := watch.NewProxyWatcher(events)
	go func() { // ends with the watch
		defer close(events)
		for next := after; ; {
			m.mu.Lock()
			news, changed := m.history[next:], m.changed
			m.mu.Unlock()
			for _, e := range news {
				next++
				if e.Object.(*corev1.ConfigMap).Name != named(o) {
					continue
				}
				select {
				case events <- watch.Event{Type: e.Type, Object: e.Object.DeepCopyObject()}:
				case <-w.StopChan():
					return
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-w.StopChan():
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return w, nil
}
