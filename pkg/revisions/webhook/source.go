package webhook

import (
	"context"
	"fmt"

	"go.uber.org/zap"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/object"
)

// Label is a label of a MutatingWebhookConfiguration.
type Label struct {
	Name, Label string
}

// Istio is where Istio keeps its default revision.
var Istio = Label{Name: "istio-revision-tag-default", Label: "istio.io/rev"}

// New makes the source that reads the label. A nil log means that nothing is logged.
func New(client admissionclient.MutatingWebhookConfigurationsGetter, label Label, log *zap.Logger) election.Preferences {
	env := revisions.Env{Log: log}.Defaults()
	return &source{client: client, label: label, log: env.Log.With(
		zap.String("mutatingWebhookConfiguration", label.Name), zap.String("label", label.Label))}
}

type source struct {
	client admissionclient.MutatingWebhookConfigurationsGetter
	label  Label
	log    *zap.Logger
	gauge  revisions.Gauge
}

// Reads implements revisions.Reader.
func (s *source) Reads() revisions.Read {
	return revisions.Read{Group: admissionv1.GroupName, Resource: "mutatingwebhookconfigurations", Name: s.label.Name, Scope: revisions.OfCluster}
}

// Freshness implements revisions.Dated.
func (s *source) Freshness() revisions.Freshness { return s.gauge.Freshness() }

// Watch implements election.Preferences. It never gives up.
func (s *source) Watch(ctx context.Context, deliver func(election.Preference)) error {
	hooks := s.client.MutatingWebhookConfigurations()
	object.Reader{Object: object.Object{
		Name:  s.label.Name,
		List:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return hooks.List(ctx, o) },
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return hooks.Watch(ctx, o) },
		Place: fmt.Sprintf("mutatingwebhookconfiguration %s of the cluster, by a ClusterRole", s.label.Name),
	}, Value: s.value}.Follow(ctx, &revisions.Keeper{Deliver: deliver, Log: s.log, Gauge: &s.gauge, Place: "the label"})
	return nil
}

func (s *source) value(o runtime.Object) (string, error) {
	hook, ok := o.(*admissionv1.MutatingWebhookConfiguration)
	if !ok {
		return "", fmt.Errorf("want a MutatingWebhookConfiguration, got a %T", o)
	}
	return hook.Labels[s.label.Label], nil
}
