package configmap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
)

// TestSet sets different keys at the same time, at first without a ConfigMap: every value must be
// kept.
func TestSet(t *testing.T) {
	cluster := devcluster.Start(t)
	client, namespace := coreOf(t, cluster.Config), cluster.Namespace(t)
	at := func(key string) configmap.Key { return configmap.Key{Namespace: namespace, Name: name, Key: key} }
	if said, err := configmap.Get(t.Context(), client, at(key)); said != "" || err != nil {
		t.Errorf("without a ConfigMap: %q, %v", said, err)
	}
	const setters = 4
	var wg sync.WaitGroup
	for i := range setters {
		wg.Go(func() {
			if err := configmap.Set(t.Context(), client, at(fmt.Sprintf("k%d", i)), "1-9-0"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range setters {
		if said, err := configmap.Get(t.Context(), client, at(fmt.Sprintf("k%d", i))); said != "1-9-0" || err != nil {
			t.Errorf("k%d: %q, %v", i, said, err)
		}
	}
	version := func() string {
		cm, err := client.ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cm.ResourceVersion
	}
	before := version()
	if err := configmap.Set(t.Context(), client, at("k0"), "1-9-0"); err != nil || version() != before {
		t.Errorf("it said so already, yet it was written: %v", err)
	}
	elsewhere := configmap.Key{Namespace: namespace + "-not-there", Name: name, Key: key}
	if err := configmap.Set(t.Context(), client, elsewhere, "1-9-0"); err == nil {
		t.Error("it was set in a namespace that is not there")
	}
}

// TestSetContended checks that Set gives up, and says what to do, if others are faster each time.
func TestSetContended(t *testing.T) {
	err := configmap.Set(t.Context(), contended{}, configmap.Key{Namespace: "x", Name: name, Key: key}, "1-9-0")
	if !apierrors.IsConflict(err) || !strings.HasSuffix(err.Error(), "(others changed configmap "+name+" 10 times in a row; try again)") {
		t.Errorf("%v", err)
	}
}

// contended is a cluster in which somebody else is always faster.
type contended struct{ coreclient.ConfigMapInterface }

func (c contended) ConfigMaps(string) coreclient.ConfigMapInterface { return c }

func (contended) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	return &corev1.ConfigMap{}, nil
}

func (contended) Update(context.Context, *corev1.ConfigMap, metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	return nil, apierrors.NewConflict(corev1.Resource("configmaps"), name, errors.New("it was modified"))
}
