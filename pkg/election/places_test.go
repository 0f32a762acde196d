package election_test

import (
	"fmt"
	"testing"

	restclient "k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

// TestPublishedPlaces checks which namespaces a session names: those of locks that are not beside it, as many as there is
// room for.
func TestPublishedPlaces(t *testing.T) {
	at := &restclient.Config{Host: "http://127.0.0.1:1"} // nobody asks it
	leases, err := lease.NewClient(at)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := configmap.NewClient(at)
	if err != nil {
		t.Fatal(err)
	}
	published := func(specs ...election.Spec) string {
		t.Helper()
		p, err := election.PublishedBy(election.Config{Group: "edge", Member: election.Member{Revision: "1"}, Locks: lease.In(leases, "home"), Host: "a"}, specs)
		if err != nil {
			t.Fatal(err)
		}
		return p.Places
	}
	if got := published(
		election.Spec{Name: "beside"},
		election.Spec{Name: "map", Locks: configmap.In(maps, "home")},
		election.Spec{Name: "shared", Locks: lease.Shared(leases, "home")},
		election.Spec{Name: "far", Locks: lease.Shared(leases, "kube-system")},
		election.Spec{Name: "farther", Locks: lease.Shared(leases, "kube-system")},
		election.Spec{Name: "moved", MigrateFrom: &election.LockRef{Lock: "m", Locks: configmap.In(maps, "before")}},
		election.Spec{Name: "off", Disabled: true, Locks: lease.Shared(leases, "nowhere")},
	); got != "before,kube-system" {
		t.Errorf("got %q", got)
	}
	if got := published(election.Spec{Name: "beside"}); got != "" {
		t.Errorf("got %q", got)
	}
	var many []election.Spec
	for i := range 100 {
		many = append(many, election.Spec{Name: fmt.Sprintf("e-%d", i), Locks: lease.Shared(leases, fmt.Sprintf("namespace-%d", i))})
	}
	if got := published(many...); len(got) > 253 || len(got) < 200 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
