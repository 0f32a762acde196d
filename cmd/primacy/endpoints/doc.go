// Package endpoints serves what a member says of itself over HTTP: /livez, /readyz, /metrics, /api/v1/elections,
// /api/v1/events and /debug/pprof/.
//
// Nothing here can hold the elections up. A handler reads what the Manager publishes; it never waits for the host, nor
// the host for it. Connections, requests, streams of events and the lag of each stream are all bounded.
//
// /livez and /readyz are for everybody, since a kubelet sends no token. config.Access says who may read the rest: off
// loopback a Reviewer asks the API server (docs/decisions/0036).
package endpoints
