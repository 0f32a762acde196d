// Package policy makes ValidatingAdmissionPolicies, with which the API server itself refuses writes.
//
// A Fence refuses writes of a former leader: it compares the stamp of an object (fence.Stamp, Gate.Stamping) with the
// token in the election's lock. A Guard lets nobody but members write locks and sessions.
//
// The API server sees a lock through a watch of its own, some milliseconds after the lock was written. Until then a
// Fence lets a former leader's write pass, unless the object already has the new leader's stamp.
package policy
