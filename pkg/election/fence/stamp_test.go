package fence_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

func TestStamp(t *testing.T) {
	cached := map[string]string{"k": "v", "fence.primacy.dev/a": "3"}
	o := &metav1.ObjectMeta{Labels: cached}
	fence.Stamp(o, "a", 7)
	if want := map[string]string{"k": "v", "fence.primacy.dev/a": "7"}; !maps.Equal(o.Labels, want) {
		t.Errorf("%v", o.Labels)
	}
	if cached["fence.primacy.dev/a"] != "3" {
		t.Error("the cache's map was changed")
	}
}

// TestStamping checks how each kind of body is stamped, with the tokens of all elections of the gate, and which
// bodies are not sent at all.
func TestStamping(t *testing.T) {
	const maps, object = "/api/v1/namespaces/x/configmaps", "application/json"
	stamps := `"fence.primacy.dev/a":"$A","fence.primacy.dev/b":"$B"`
	for _, tt := range []struct {
		name, method, path, kind, body string
		want                           string // empty: not sent
	}{
		{"create", http.MethodPost, maps, object, `{"data":{"n":"12345678901234567890"},"x":12345678901234567890}`, `{"data":{"n":"12345678901234567890"},"metadata":{"labels":{` + stamps + `}},"x":12345678901234567890}`},
		{"update", http.MethodPut, maps, object + "; charset=utf-8", `{"metadata":{"name":"c","labels":{"fence.primacy.dev/a":"9","k":"v"}}}`, `{"metadata":{"labels":{` + stamps + `,"k":"v"},"name":"c"}}`},
		{"merge patch", http.MethodPatch, maps, "application/merge-patch+json", `{}`, `{"metadata":{"labels":{` + stamps + `}}}`},
		{"strategic patch", http.MethodPatch, maps, "application/strategic-merge-patch+json", `{}`, `{"metadata":{"labels":{` + stamps + `}}}`},
		{"apply", http.MethodPatch, "/prefix/apis/g/v1/things", "application/apply-patch+yaml", `{}`, `{"metadata":{"labels":{` + stamps + `}}}`},
		{"JSON patch", http.MethodPatch, maps, "application/json-patch+json", `[{"op":"remove","path":"/x"}]`,
			`[{"op":"remove","path":"/x"},{"op":"add","path":"/metadata/labels/fence.primacy.dev~1a","value":"$A"},{"op":"add","path":"/metadata/labels/fence.primacy.dev~1b","value":"$B"}]`},
		{"delete", http.MethodDelete, maps, object, `{}`, `{}`},
		{"no resource", http.MethodPost, "/healthz", "text/plain", `hello`, `hello`},
		{"protobuf", http.MethodPost, maps, "application/vnd.kubernetes.protobuf", "k8s", ""},
		{"no type", http.MethodPost, maps, "", "{}", ""},
		{"YAML", http.MethodPatch, maps, "application/apply-patch+yaml", "kind: ConfigMap", ""},
		{"null labels", http.MethodPatch, maps, "application/merge-patch+json", `{"metadata":{"labels":null}}`, ""},
		{"null metadata", http.MethodPatch, maps, "application/merge-patch+json", `{"metadata":null}`, ""},
		{"list", http.MethodPost, maps, object, `[]`, ""},
		{"no patch", http.MethodPatch, maps, "application/json-patch+json", `{}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			leading(t, nil, func(t *testing.T, m1 *member, _ *memory.Realm) {
				got := ""
				w := &wire{answer: func(req *http.Request) (*http.Response, error) {
					text, err := io.ReadAll(req.Body)
					if err != nil || req.ContentLength != int64(len(text)) {
						t.Errorf("a length of %d for %q: %v", req.ContentLength, text, err)
					}
					again := text
					if req.GetBody != nil {
						b, err := req.GetBody()
						if err != nil {
							t.Fatal(err)
						}
						again, _ = io.ReadAll(b)
					}
					if !bytes.Equal(text, again) {
						t.Errorf("sent again: %q", again)
					}
					got = string(text)
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
				}}
				body := &closer{Reader: strings.NewReader(tt.body)}
				req, err := http.NewRequestWithContext(t.Context(), tt.method, "https://cluster"+tt.path, body)
				if err != nil {
					t.Fatal(err)
				}
				req.ContentLength = int64(len(tt.body))
				if tt.kind != "" {
					req.Header.Set("Content-Type", tt.kind)
				}
				_, err = (&http.Client{Transport: gateOf(t, m1.status...).Stamping(w)}).Do(req)
				want := strings.NewReplacer("$A", tokenText(m1, 0), "$B", tokenText(m1, 1)).Replace(tt.want)
				if got != want || (tt.want == "") != errors.Is(err, fence.ErrNotStamped) || !body.closed && tt.want == "" {
					t.Errorf("sent %s\nwant %s\n%v", got, want, err)
				}
			}, "a", "b")
		})
	}
}

func tokenText(m *member, n int) string {
	o := &metav1.ObjectMeta{}
	fence.Stamp(o, "x", m.status[n].Token())
	return o.Labels[fence.StampKey("x")]
}

// TestStampingIsAGate checks that a follower's writes are refused, not stamped, and that Ungated requests stay as
// they are.
func TestStampingIsAGate(t *testing.T) {
	w := &wire{}
	send := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://cluster/api/v1/namespaces/x/configmaps", strings.NewReader("k8s"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&http.Client{Transport: closed().Stamping(w)}).Do(req)
		return err
	}
	if err := send(t.Context()); !errors.Is(err, fence.ErrNotLeading) || len(w.seen()) != 0 {
		t.Errorf("sent %v: %v", w.seen(), err)
	}
	if err := send(fence.Ungated(t.Context())); err != nil || len(w.seen()) != 1 {
		t.Errorf("ungated: sent %v: %v", w.seen(), err)
	}
}
