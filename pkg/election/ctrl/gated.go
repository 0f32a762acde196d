package ctrl

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/fence"
)

// Gated is the configuration for a manager whose clients write only within a Reconcile of a valid term. Reads pass. So do
// events, and reviews of tokens and access, which every member makes.
func Gated(config *rest.Config) *rest.Config { return wrapped(config, fence.WithinDo) }

// Stamped is Gated, and stamps what passes with the token of the term, for the policy of `primacy generate fence-policy`.
// Clients send JSON, also of kinds for which controller-runtime prefers protobuf.
func Stamped(config *rest.Config) *rest.Config {
	c := wrapped(config, fence.StampingWithinDo)
	c.ContentType = "application/json"
	return c
}

func wrapped(config *rest.Config, gate func(http.RoundTripper) http.RoundTripper) *rest.Config {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &besides{gate(next), next} })
	return c
}

// besides lets pass what needs no leader.
type besides struct{ gate, next http.RoundTripper }

func (b *besides) RoundTrip(req *http.Request) (*http.Response, error) {
	if needsNoLeader(req.URL.Path) {
		return b.next.RoundTrip(req)
	}
	answer, err := b.gate.RoundTrip(req)
	if errors.Is(err, fence.ErrNotLeading) && electsByItself(req) {
		err = fmt.Errorf("%w (the manager elects by itself, beside its controllers: leave manager.Options.LeaderElection off, and see Elections.MigrateFrom)", err)
	}
	return answer, err
}

// electsByItself says whether the request is that of a manager with LeaderElection on, which would never win behind the gate.
func electsByItself(req *http.Request) bool {
	return strings.Contains(req.URL.Path, "/coordination.k8s.io/") && strings.HasSuffix(req.UserAgent(), "/leader-election")
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (b *besides) WrappedRoundTripper() http.RoundTripper { return b.next }

// ungated says whether no part of a client's transport is a gate of this package. It says no of a transport that it cannot see through.
func ungated(t http.RoundTripper) bool {
	for {
		switch now := t.(type) {
		case *besides:
			return false
		case utilnet.RoundTripperWrapper:
			t = now.WrappedRoundTripper()
		case *http.Transport, nil:
			return true
		default:
			return false
		}
	}
}

// needsNoLeader says whether the path is that of events, or of reviews.
func needsNoLeader(path string) bool {
	p := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case len(p) >= 5 && p[0] == "api" && p[1] == "v1" && p[2] == "namespaces":
		return p[4] == "events"
	case len(p) >= 6 && p[0] == "apis" && p[1] == "events.k8s.io" && p[3] == "namespaces":
		return p[5] == "events"
	case len(p) == 4 && p[0] == "apis" && (p[1] == "authentication.k8s.io" || p[1] == "authorization.k8s.io"):
		return strings.HasSuffix(p[3], "reviews")
	}
	return false
}
