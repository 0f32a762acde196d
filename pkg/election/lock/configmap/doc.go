// Package configmap stores records in ConfigMaps (v1) of one namespace, as electors did
// before there were Leases, and as Istio does. Such electors take part in the same elections.
//
//	client, err := configmap.NewClient(config)
//	if err != nil { return err }
//	locks := configmap.In(client, "istio-system")
//
// The plain fields are in the annotation control-plane.alpha.kubernetes.io/leader, byte
// for byte as the others write them, with times cut to whole seconds. Our writes preserve
// unknown JSON fields in it, up to 4 KiB; the others' writes do not. Our writes also preserve
// what else a ConfigMap carries: data, binaryData, immutable, others' annotations and
// labels, owners, finalizers. A record keeps all of it in memory, so a ConfigMap that is a
// lock should not hold much.
//
// # A lock that nobody ever held
//
// A record without holder, duration, transitions and times has no leader annotation.
// Every known elector treats that as a free lock, however it treats empty fields. It also
// leaves no JSON that an elector could find corrupt: Istio's would never acquire again. For
// the same reason everything that stops the others (JSON that is broken, of the wrong type,
// or null; a time that is empty) makes a record Unreadable here, so that members repair it.
// Our own annotation is read even without a leader annotation.
//
// # Writes and watches
//
// Every write is a full PUT that carries uid and resourceVersion, and is sent once: see
// package apiserver for why. Others usually use the namespace too, so members watch a Store
// by name (lock.NameWatcher): one list at one revision for all names, then one stream for
// each. If one breaks all end, and each resumes where it was. A role bound to the names
// suffices.
//
// A Store is safe for concurrent use and starts no goroutine that outlives a call.
package configmap
