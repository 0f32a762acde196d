package lease

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
)

// Client gives access to the API group of Leases. A clientset's CoordinationV1() is a Client,
// but shares the clientset's rate limit; see NewClient.
type Client = apiserver.Client

// APIClient is a Client with connections of its own. See NewClient.
type APIClient = apiserver.APIClient

// NewClient makes a client as apiserver.NewClient does.
func NewClient(config *rest.Config) (*APIClient, error) {
	return apiserver.NewClient(config, apiserver.Group{
		Path: "/apis", Version: coordinationv1.SchemeGroupVersion, Types: []runtime.Object{&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
	})
}
