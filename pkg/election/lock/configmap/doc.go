// Package configmap stores records in ConfigMaps (v1) of one namespace, as electors did
// before there were Leases, and as Istio does. They take part in the same elections.
//
//	client, err := configmap.NewClient(config)
//	if err != nil { return err }
//	locks := configmap.In(client, "istio-system")
//
// The plain fields stand in the annotation control-plane.alpha.kubernetes.io/leader, byte
// for byte as the others write them; times are cut to whole seconds there. JSON fields
// in it that we do not know survive our writes, up to 4 KiB of them, though not those of
// others. So does what else a ConfigMap carries: data, binaryData, immutable, others'
// annotations and labels, owners, finalizers. A record keeps all of it in memory, so a
// lock should not be a ConfigMap that holds much.
//
// # A lock that nobody ever held
//
// A record without holder, duration, transitions and times has no leader annotation.
// Every elector known takes that for a free lock, whatever it makes of empty fields, and
// there is no JSON that one of them could find corrupt, after which Istio never acquires
// again. For the same reason everything that stops the others (JSON that is broken, of
// the wrong type, or null; a time that is empty) makes a record Unreadable here, so that
// it is repaired. An annotation of ours beside no leader annotation is still read.
//
// # Writes and watches
//
// Every write is a full PUT that carries uid and resourceVersion, and is sent once: see
// package apiserver for why. The namespace is usually others' too, so a Store is watched by
// name (lock.NameWatcher): one list at one revision for all names, then one stream for
// each. Any that breaks takes the others with it, and each resumes where it was. A role
// bound to the names suffices.
//
// A Store is safe for concurrent use and starts no goroutine that outlives a call.
package configmap
