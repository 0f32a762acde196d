package app

import (
	"net/http"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/proxy"
)

// storms are the faults that the proxy can cause.
var storms = map[string]proxy.Fault{
	"errors":      proxy.Answer(http.StatusInternalServerError, 0),
	"unavailable": proxy.Answer(http.StatusServiceUnavailable, 0),
	"gateway":     proxy.Answer(http.StatusGatewayTimeout, 0),
	"busy":        proxy.Answer(http.StatusTooManyRequests, time.Second),
	"hangs-up":    proxy.HangUp(),
}

// weather writes a kubeconfig for a proxy to the API server: the first two requests of
// each operation fail in the way that STORM names; with RESOURCE/NAME all updates of that object do, and nothing else.
func (s *scripts) weather(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	storm := storms[args[0]]
	if storm == nil {
		ts.Fatalf("there is no weather %s", args[0])
	}
	p := proxy.New(s.t, s.cluster.Config)
	if len(args) == 3 {
		resource, name, ok := strings.Cut(args[2], "/")
		if !ok || name == "" {
			ts.Fatalf("%s names no object: want RESOURCE/NAME", args[2])
		}
		p.On(proxy.Update, proxy.Of(resource, proxy.Under(name, storm)))
	} else {
		for _, op := range proxy.Ops {
			p.On(op, proxy.Times(2, storm))
		}
	}
	ts.Check(p.Kubeconfig(ts.MkAbs(args[1]), ts.Getenv("NS")))
}
