// Package lease stores records as Leases (coordination.k8s.io/v1) of one namespace.
//
//	client, err := lease.NewClient(config)
//	if err != nil { return err }
//	locks := lease.In(client, "edge-system")
//
// Every write is a full PUT that carries uid and resourceVersion: a Lease that is put
// without its uid after it was deleted comes back to life. Nothing is ever retried on
// the way, not even where the server answers Retry-After: a second attempt of a write
// that was committed is answered with a conflict, and a conflict must mean that nothing
// was written. What others keep on a Lease (annotations, labels, owners, finalizers,
// strategy, preferredHolder) survives.
//
// Shared Leases stand in other namespaces than sessions do and are watched by name; see
// Shared and HolderKeys.
//
// A Store is safe for concurrent use and starts no goroutine that outlives a call.
package lease
