package leaderelection

import (
	"context"
	"errors"
	"reflect"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
)

// CacheSyncWaiter is what client-go's NewCandidate returns for the cache of its candidate.
type CacheSyncWaiter interface {
	WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool
}

// LeaseCandidate is client-go's candidate of a coordinated election. It is here so that programs compile that can make
// one, such as kube-scheduler. NewCandidate makes none.
type LeaseCandidate struct{}

// Run returns at once: nobody is a candidate.
func (*LeaseCandidate) Run(context.Context) {}

// NewCandidate returns an error. In a coordinated election the API server chooses the holder and writes its name
// into the Lease, but a name that this package has not made is another elector's.
func NewCandidate(_ kubernetes.Interface, candidateNamespace, candidateName, targetLease, binaryVersion, emulationVersion string,
	strategy coordinationv1.CoordinatedLeaseStrategy) (*LeaseCandidate, CacheSyncWaiter, error) {
	return nil, nil, errors.New("coordinated elections are not supported (switch the feature gate CoordinatedLeaderElection off)")
}
