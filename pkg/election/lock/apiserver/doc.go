// Package apiserver is the common part of stores that keep their records on an API server,
// each record in one object of a kind: requests, answers and streams. Each store defines for
// itself what an object says.
//
// Every write is a full PUT that carries uid and resourceVersion: a PUT of a Lease without
// its uid would recreate a deleted Lease. The client never retries, not even if the server
// answers Retry-After: the second attempt of a committed write gets a conflict, and a
// conflict must mean that nothing was written.
//
// Objects are safe for concurrent use and start no goroutine that outlives a call.
package apiserver
