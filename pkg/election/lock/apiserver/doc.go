// Package apiserver is what stores have in common that keep their records on an API server,
// each record in one object of a kind: requests, answers and streams. What an object says is
// the store's own matter.
//
// Every write is a full PUT that carries uid and resourceVersion: a Lease that is put
// without its uid after it was deleted comes back to life. Nothing is ever retried on
// the way, not even where the server answers Retry-After: a second attempt of a write
// that was committed is answered with a conflict, and a conflict must mean that nothing
// was written.
//
// Objects are safe for concurrent use and start no goroutine that outlives a call.
package apiserver
