// Package lease stores records as Leases (coordination.k8s.io/v1) of one namespace.
//
//	client, err := lease.NewClient(config)
//	if err != nil { return err }
//	locks := lease.In(client, "edge-system")
//
// Every write is a full PUT that carries uid and resourceVersion, and is sent once: see
// package apiserver for why. Writes preserve what others keep on a Lease (annotations,
// labels, owners, finalizers, strategy, preferredHolder).
//
// Shared Leases are in other namespaces than sessions, and members watch them by name; see
// Shared and HolderKeys.
//
// A Store is safe for concurrent use and starts no goroutine that outlives a call.
package lease
