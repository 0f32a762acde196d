package endpoints

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ahead is the clock of a Reviewer, which a test moves on.
type ahead struct{ by atomic.Int64 }

func (a *ahead) Now() record.Instant {
	return clock.Boottime().Now().Add(time.Duration(a.by.Load()))
}
func (a *ahead) Wall() time.Time { return time.Now() }

const edgeSystem = "edge-system" // the namespace of the manifests

// people are service accounts on the API server, with the rights of manifests/endpoints.yaml.
type people struct {
	*testing.T
	core *coreclient.CoreV1Client
	rbac *rbacclient.RbacV1Client
}

func newPeople(t *testing.T, cluster *devcluster.Cluster) *people {
	t.Helper()
	p := &people{T: t, core: coreclient.NewForConfigOrDie(cluster.Config), rbac: rbacclient.NewForConfigOrDie(cluster.Config)}
	if _, err := p.core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: edgeSystem}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../manifests/endpoints.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(doc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := object.(type) {
		case *rbacv1.ClusterRole:
			_, err = p.rbac.ClusterRoles().Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = p.rbac.ClusterRoleBindings().Create(t.Context(), o, metav1.CreateOptions{})
		default:
			t.Fatalf("the manifest has a %T", o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// token makes a service account with a cluster role, or without one, and returns its token.
func (p *people) token(name, role string) string {
	p.Helper()
	if _, err := p.core.ServiceAccounts(edgeSystem).Create(p.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
	if role != "" {
		_, err := p.rbac.ClusterRoleBindings().Create(p.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: edgeSystem}},
		}, metav1.CreateOptions{})
		if err != nil {
			p.Fatal(err)
		}
	}
	made, err := p.core.ServiceAccounts(edgeSystem).CreateToken(p.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return made.Status.Token
}

// asker asks endpoints over TLS, by a certificate of its own.
type asker struct {
	*testing.T
	client *http.Client
	url    string
}

func (a asker) ask(path, token string) (code int, body string) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path, nil)
	if err != nil {
		a.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := a.client.Do(r)
	if err != nil {
		a.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var text []byte
	if path == "/api/v1/events" && answer.StatusCode == http.StatusOK {
		text = make([]byte, len("retry: 3000"))
		_, err = io.ReadFull(answer.Body, text)
	} else {
		text, err = io.ReadAll(answer.Body)
	}
	if err != nil {
		a.Error(err)
	}
	return answer.StatusCode, string(text)
}

// until asks until the code comes, or patience is over.
func (a asker) until(path string, want int) (took time.Duration) {
	a.Helper()
	began := time.Now()
	for {
		code, body := a.ask(path, "")
		switch {
		case code == want:
			return time.Since(began)
		case time.Since(began) > patience || !clock.Wait(a.Context(), 50*time.Millisecond):
			a.Fatalf("%s answers with %d for %v, want %d\n%s", path, code, time.Since(began), want, body)
		}
	}
}

// TestOnTheAPIServer has two members on the real API server, whose endpoints want tokens. It asks each endpoint with
// tokens of several rights, withdraws a right, and takes the API server away.
func TestOnTheAPIServer(t *testing.T) {
	cluster := devcluster.New(t)
	p := newPeople(t, cluster)
	tokens := map[string]string{
		"no token": "", "a wrong token": "nobody-gave-this-out", "without rights": p.token("stranger", ""),
		"reader": p.token("reader", "primacy-endpoints-reader"), "profiler": p.token("profiler", "primacy-endpoints-profiler"),
	}
	asMember := rest.AnonymousClientConfig(cluster.Config) // with the rights of the manifest, and no more
	asMember.BearerToken = p.token("primacy", "")
	namespace := cluster.Namespace(t)
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	timing.LeaseDuration = steady
	var askers []asker
	var managers []*election.Manager
	reviews := &ahead{}
	files := writePair(t, t.TempDir(), 1)
	for _, host := range []string{"m1", "m2"} {
		client, err := lease.NewClient(cluster.Config)
		if err != nil {
			t.Fatal(err)
		}
		m, err := election.NewManager(election.Config{
			Group: "edge", Host: host, Member: election.Member{Revision: "r"}, Locks: lease.In(client, namespace), Timing: timing,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Add(election.Spec{Name: "a", Bootstrap: election.BootstrapImmediate}, nil); err != nil {
			t.Fatal(err)
		}
		reviewer, err := NewReviewer(asMember, reviews, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, Config{
			HTTP: config.HTTP{Address: "127.0.0.1:0", TLS: files, Access: config.AccessToken}, Health: m, Elections: m,
			Collectors: []prometheus.Collector{metrics.Of(m)}, Reviewer: reviewer, Log: zap.NewNop(),
		})
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := m.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(func() {
			cancel()
			wg.Wait()
		})
		a := asker{t, trusting(t, files), s.URL()}
		a.until("/readyz", http.StatusOK)
		askers, managers = append(askers, a), append(managers, m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for led := managers[0].Watch(ctx); !managers[0].Statuses()[0].IsLeader(); {
		<-led
	}

	var table strings.Builder
	for i, role := range []string{"leader", "follower"} {
		for _, who := range []string{"no token", "a wrong token", "without rights", "reader", "profiler"} {
			fmt.Fprintf(&table, "\n%-9s %-15s", role, who)
			for _, path := range []string{"/livez", "/readyz", "/metrics", "/api/v1/elections", "/api/v1/events", "/debug/pprof/cmdline"} {
				want := http.StatusForbidden
				switch {
				case strings.HasSuffix(path, "z"), who == "reader" && path[1] != 'd', who == "profiler" && path[1] == 'd':
					want = http.StatusOK
				case who == "no token", who == "a wrong token":
					want = http.StatusUnauthorized
				}
				code, body := askers[i].ask(path, tokens[who])
				fmt.Fprintf(&table, " %s %d", path, code)
				if code != want {
					t.Errorf("%s, %s: %s answers with %d, want %d\n%s", role, who, path, code, want, body)
				}
			}
		}
	}
	t.Log(table.String())
	for i, want := range []string{`"name":"a","role":"leading"`, `"name":"a","role":"following"`} {
		if _, body := askers[i].ask("/api/v1/elections", tokens["reader"]); !strings.Contains(body, want) || !strings.Contains(body, `"leader":{"identity":"m1_`) {
			t.Errorf("it says %s, want %s", body, want)
		}
	}

	if err := p.rbac.ClusterRoleBindings().Delete(t.Context(), "reader", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	withdrawn := time.Now()
	for code := 0; code != http.StatusForbidden; { // the API server's own cache of roles takes a moment
		if time.Since(withdrawn) > patience {
			t.Fatal("a right that was withdrawn still counts")
		}
		reviews.by.Add(int64(answerTime + time.Second))
		if code, _ = askers[0].ask("/metrics", tokens["reader"]); code != http.StatusOK && code != http.StatusForbidden {
			t.Fatalf("after the right was withdrawn: %d", code)
		}
	}

	cluster.Down(t)
	reviews.by.Add(int64(answerTime + time.Second))
	if code, body := askers[0].ask("/metrics", tokens["profiler"]); code != http.StatusServiceUnavailable {
		t.Errorf("without the API server /metrics answers with %d %s", code, body)
	}
	unready := askers[0].until("/readyz", http.StatusServiceUnavailable)
	for i := range askers {
		askers[i].until("/readyz", http.StatusServiceUnavailable)
		if code, body := askers[i].ask("/livez", ""); code != http.StatusOK {
			t.Errorf("without the API server /livez answers with %d %s", code, body)
		}
	}
	cluster.Up(t)
	ready := askers[0].until("/readyz", http.StatusOK)
	t.Logf("API server away: /readyz 503 after %v, /livez 200; back: /readyz 200 after %v", unready.Round(time.Millisecond), ready.Round(time.Millisecond))
}

// trusting is a client that trusts a certificate.
func trusting(t *testing.T, files config.TLS) *http.Client {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(files.CertFile))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatal("no certificate")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}
