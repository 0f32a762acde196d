// Package trials tests, with whole processes on a real API server, that the work of a member is
// contained whatever happens to the member, its supervisors or the work itself.
//
// Its tests do each trial once. With PRIMACY_LONG=1 they do as many as for the figures in
// docs/runners.md, which takes about half an hour:
//
//	PRIMACY_LONG=1 go test -count=1 -v -timeout 1h ./trials
package trials
