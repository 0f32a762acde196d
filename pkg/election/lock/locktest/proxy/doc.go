// Package proxy stands between a member and an API server, and speaks TLS and HTTP/2 as an API server
// does. It has faults by operation: answers that are late, lost, wrong or another server's, watches that
// lag, and connections that turn into black holes.
//
//	p := proxy.New(t, cluster.Config)
//	client, err := lease.NewClient(p.Config())
//	...
//	p.On(proxy.List, proxy.Delay(time.Minute))
package proxy
