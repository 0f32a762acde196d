package steering_test

import (
	"context"
	"log"

	"go.uber.org/zap"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// A program that obeys primacy drain, pause, handover and pin. Its service account needs list and watch on the ConfigMap primacy-edge-rollout,
// beside its rights to Leases. An end that somebody gave, such as that of a pause, comes by the wall clock.
func ExampleNew() {
	config, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	core, err := coreclient.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	locks, err := lease.NewClient(config)
	if err != nil {
		log.Fatal(err)
	}
	const group, namespace = "edge", "edge-system"
	m, err := election.NewManager(election.Config{
		Group: group, Member: election.Member{Revision: "1-9-0"}, Locks: lease.In(locks, namespace),
		// No revision is preferred, unless a pin says so; a source such as configmap.New in place of the first nil prefers one.
		Preferences: steering.New(core, namespace, group, nil, nil, zap.Must(zap.NewProduction())),
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := m.Add(election.Spec{Name: "ingress-status"}, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		<-ctx.Done()
		return nil
	})); err != nil {
		log.Fatal(err)
	}
	if err := m.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
