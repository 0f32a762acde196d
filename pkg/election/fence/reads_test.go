package fence_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/fence"
)

// TestWhatIsARead checks that reads pass without leadership; everything else does not, and nothing of it
// is sent.
func TestWhatIsARead(t *testing.T) {
	const pod = "/api/v1/namespaces/x/pods/p"
	reads := []string{
		"GET " + pod, "GET /api/v1/namespaces/x/pods", "GET /api/v1/pods?watch=true", "GET " + pod + "/log", "GET " + pod + "/status",
		"HEAD " + pod, "OPTIONS " + pod, " " + pod,
		"GET /apis/apps/v1/namespaces/x/deployments/d/scale", "GET /apis/example.org/v1alpha1/widgets/w",
		"GET /", "GET /version", "GET /healthz", "GET /openapi/v3", "GET /metrics", "GET /logs/exec",
		// names are not subresources
		"GET /api/v1/namespaces/proxy", "GET /api/v1/namespaces/proxy/pods/exec", "GET /api/v1/namespaces/x/configmaps/proxy",
		"GET /api/v1/namespaces/x/services/proxy/status", "GET /api/v1/nodes/exec", "GET /api/v1/namespaces/x/status",
		"GET /api/v1/watch/namespaces/x/pods/proxy", "GET /k8s/clusters/c" + pod, "GET /a//b", "GET /apis", "GET /apis/apps", "GET /apis/apps/v1", "GET /api/v1", "GET /apis/apps/v1/deployments/exec",
	}
	writes := []string{
		"POST " + pod, "PUT " + pod, "PATCH " + pod, "DELETE " + pod, "DELETE /api/v1/namespaces/x/pods",
		"PUT " + pod + "/status", "PATCH " + pod + "/status", "POST " + pod + "/eviction", "POST " + pod + "/binding",
		"CONNECT " + pod, "TRACE " + pod, "BREW " + pod, "get " + pod, "LINK /",
		"POST /", "PUT /logs", "DELETE /metrics",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "POST /apis/authentication.k8s.io/v1/tokenreviews",
		"POST /api/v1/namespaces/x/serviceaccounts/a/token",
		"GET " + pod + "/exec", "GET " + pod + "/attach", "GET " + pod + "/portforward", "GET " + pod + "/proxy", "GET " + pod + "/proxy/a/b",
		"HEAD " + pod + "/proxy", "OPTIONS " + pod + "/proxy", "GET " + pod + "/exec/", "GET " + pod + "/proxy/api/v1/pods",
		"GET /api/v1/namespaces/x/services/https:s:443/proxy/", "GET /api/v1/nodes/n/proxy/metrics",
		"GET /api/v1/proxy/nodes/n", "GET /apis/example.org/v1/namespaces/x/machines/m/portforward", "GET /apis/example.org/v1/machines/m/exec", "GET /apis/example.org/stable/machines/m/exec",
		"GET /k8s/clusters/c" + pod + "/exec", "GET /apis" + pod + "/exec", "GET /apis/x/apis/apps/v1/things/t/attach", "GET /api/v3/clusters/c" + pod + "/exec",
		"GET /api/v1/namespaces/x//pods/p/exec", "GET /api/v1/namespaces/x/./pods/p/exec", "GET /api/v1/a/../namespaces/x/pods/p/proxy",
		"GET /api/v1/namespaces/x/pods/p%2Fexec",
	}
	send := func(line string) (sent bool, err error) {
		w := &wire{}
		method, path, _ := cut(line)
		req := httptest.NewRequest(http.MethodGet, "https://cluster"+path, nil)
		req.Method = method
		_, err = closed().RoundTripper(w).RoundTrip(req)
		return len(w.seen()) > 0, err
	}
	for _, line := range reads {
		if sent, err := send(line); !sent || err != nil {
			t.Errorf("%q is a read, yet: sent %v, %v", line, sent, err)
		}
	}
	for _, line := range writes {
		if sent, err := send(line); sent || !errors.Is(err, fence.ErrNotLeading) {
			t.Errorf("%q is no read, yet: sent %v, %v", line, sent, err)
		}
	}
}

func cut(line string) (method, path string, ok bool) {
	for i := range line {
		if line[i] == ' ' {
			return line[:i], line[i+1:], true
		}
	}
	return "", line, false
}

// TestDisguisedReads checks that a GET counts as a write if it asks for another protocol, or if its path
// is not in URL.Path: it may do anything.
func TestDisguisedReads(t *testing.T) {
	for name, disguise := range map[string]func(*http.Request){
		"upgrade":       func(r *http.Request) { r.Header.Set("Connection", "Upgrade"); r.Header.Set("Upgrade", "websocket") },
		"in lower case": func(r *http.Request) { r.Header["upgrade"] = []string{"websocket"} },
		"opaque":        func(r *http.Request) { r.URL.Opaque = "//cluster/api/v1/namespaces/x/pods/p/exec" },
		"no URL":        func(r *http.Request) { r.URL = nil },
	} {
		w := &wire{}
		req := httptest.NewRequest(http.MethodGet, "https://cluster/api/v1/pods", nil)
		disguise(req)
		if _, err := closed().RoundTripper(w).RoundTrip(req); !errors.Is(err, fence.ErrNotLeading) || len(w.seen()) != 0 {
			t.Errorf("%s: sent %v, %v", name, w.seen(), err)
		}
	}
}
