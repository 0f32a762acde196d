// Package fence holds writes back while this member does not lead.
//
//	var gate *fence.Gate
//	status, err := manager.Add(election.Spec{Name: "ingress-status"}, election.RunnerFunc(
//		func(ctx context.Context, term election.Term) error { return gate.Drain(ctx, term, nil) }))
//	gate, err = fence.New(status) // before manager.Run
//	config := rest.CopyConfig(restConfig) // not the one from which the locks' client is made
//	config.Wrap(gate.RoundTripper)        // or http.Client{Transport: gate.RoundTripper(nil)}
//	client, err := kubernetes.NewForConfig(config)
//
// Reads through such a client always pass, so that every member keeps its caches warm.
// Every other request fails with ErrNotLeading, and is not sent, unless the term is valid
// at that moment. The gate cuts requests that are under way when the term begins to stop,
// or at its deadline unless it is extended. Gate.Do holds back work that is not an HTTP
// request, and Gate.Drain waits for it at the end of a term. Without a Runner that calls Drain nobody waits for it: the lock
// is released at once, and the next leader may begin while a function under Do still runs. For makes a gate for one term only, for goroutines
// that may outlive it. WithinDo is for one client of several elections.
//
// A read is a GET, HEAD or OPTIONS that does not ask for another protocol and is not for
// a subresource that reaches through to something else: proxy, exec, attach, portforward.
// Reviews that the API wants as a POST, such as a SelfSubjectAccessReview, are writes
// here: Ungated lets them pass.
//
// # Limits
//
// Time passes between the check and the moment at which the server accepts the write: a
// process that is frozen in between sends a write of an earlier term. A write that was cut
// may have been carried out. Only tokens help against both: Gate.Stamping puts them into what is written, and with
// the policies of package policy the API server compares them.
//
// Gates may be used from any goroutine, and start none.
package fence
