package configmap

import (
	"context"
	"fmt"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/object"
)

// Key is one entry of one ConfigMap.
type Key struct {
	Namespace, Name, Key string
}

// New makes the source that reads the key. A nil log means that nothing is logged.
func New(client coreclient.ConfigMapsGetter, key Key, log *zap.Logger) election.Preferences {
	env := revisions.Env{Log: log}.Defaults()
	return &source{client: client, key: key, log: env.Log.With(
		zap.String("configMap", key.Namespace+"/"+key.Name), zap.String("key", key.Key))}
}

type source struct {
	client coreclient.ConfigMapsGetter
	key    Key
	log    *zap.Logger
	gauge  revisions.Gauge
}

// Reads implements revisions.Reader.
func (s *source) Reads() revisions.Read {
	return revisions.Read{Resource: "configmaps", Name: s.key.Name, Scope: revisions.OfNamespace}
}

// Freshness implements revisions.Dated.
func (s *source) Freshness() revisions.Freshness { return s.gauge.Freshness() }

// Watch implements election.Preferences. It never gives up.
func (s *source) Watch(ctx context.Context, deliver func(election.Preference)) error {
	maps := s.client.ConfigMaps(s.key.Namespace)
	object.Reader{Object: object.Object{
		Name:  s.key.Name,
		List:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return maps.Watch(ctx, o) },
		Place: fmt.Sprintf("configmap %s in namespace %s", s.key.Name, s.key.Namespace),
	}, Value: s.value}.Follow(ctx, &revisions.Keeper{Deliver: deliver, Log: s.log, Gauge: &s.gauge, Place: "the ConfigMap"})
	return nil
}

func (s *source) value(o runtime.Object) (string, error) {
	cm, ok := o.(*corev1.ConfigMap)
	if !ok {
		return "", fmt.Errorf("want a ConfigMap, got a %T", o)
	}
	return cm.Data[s.key.Key], nil
}
