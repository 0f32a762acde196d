package election_test

import (
	"context"
	"log"

	kubernetes "k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

func Example() {
	client, err := lease.NewClient(kubeconfig())
	must(err)
	m, err := election.NewManager(election.Config{
		Group: "edge", Member: election.Member{Revision: "1-9-0"}, Locks: lease.In(client, "edge-system"),
	})
	must(err)
	_, err = m.Add(election.Spec{Name: "ingress-status"}, election.RunnerFunc(syncIngress))
	must(err)
	must(m.Run(context.Background())) // until its context ends; then every runner has stopped, and every lock is released
}

// syncIngress works until its term is over.
func syncIngress(ctx context.Context, term election.Term) error {
	log.Printf("leading %s with token %d", term.Election, term.Token)
	<-ctx.Done()
	return nil
}

func kubeconfig() *kubernetes.Config { return &kubernetes.Config{Host: "https://127.0.0.1:6443"} }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
