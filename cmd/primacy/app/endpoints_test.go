package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

var serving = regexp.MustCompile(`"msg":"serving endpoints","url":"([^"]+)"`)

// request asks an endpoint of a job. It trusts any certificate.
func request(ts *testscript.TestScript, name, path, token string) (status int, body []byte) {
	url := serving.FindStringSubmatch(jobOf(ts, name).text())
	if url == nil {
		ts.Fatalf("%s has not said where it serves endpoints", name)
	}
	client := &http.Client{Timeout: longest, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // #nosec G402 -- it is a test
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url[1]+path, nil)
	ts.Check(err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	ts.Check(err)
	body, err = io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	ts.Check(err)
	return answer.StatusCode, body
}

func scrape(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	status, body := request(ts, args[0], "/metrics", "")
	if status != http.StatusOK {
		ts.Fatalf("%s: /metrics: %d", args[0], status)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "metrics.md"))
	ts.Check(err)
	for _, m := range servedType.FindAllStringSubmatch(string(body), -1) {
		if row := "| `" + m[1] + "` | " + m[2] + " |"; !strings.Contains(string(page), row) {
			ts.Fatalf("docs/metrics.md has no row %s", row)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o600))
}

var servedType = regexp.MustCompile(`(?m)^# TYPE (primacy_\w+) (\w+)$`)

func asks(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3)
	token := ""
	if len(args) > 3 {
		token = args[3]
	}
	status, body := request(ts, args[0], args[2], token)
	if strconv.Itoa(status) != args[1] {
		ts.Fatalf("%s: %s: %d, want %s\n%s", args[0], args[2], status, args[1], body)
	}
	_, err := ts.Stdout().Write(body)
	ts.Check(err)
}

// ready waits until a job answers /readyz with 200.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	for {
		status, body := request(ts, args[0], "/readyz?verbose", "")
		if status == http.StatusOK {
			return
		}
		if !clock.Wait(ctx, 50*time.Millisecond) {
			ts.Fatalf("%s is not ready:\n%s", args[0], body)
		}
	}
}

// probes also checks that the probes use a port that the container has.
func probes(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	objects, err := decodeManifest([]byte(ts.ReadFile(args[1])))
	ts.Check(err)
	asked := 0
	for _, o := range objects {
		d, is := o.(*appsv1.Deployment)
		if !is {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			ports := map[string]bool{}
			for _, p := range c.Ports {
				ports[p.Name] = true
			}
			for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if p == nil || p.HTTPGet == nil || !ports[p.HTTPGet.Port.String()] {
					ts.Fatalf("container %s: a probe asks nothing, or at a port that is not there", c.Name)
				}
				if status, body := request(ts, args[0], p.HTTPGet.Path, ""); status != http.StatusOK {
					ts.Fatalf("%s: %d\n%s", p.HTTPGet.Path, status, body)
				}
				asked++
			}
		}
	}
	if asked == 0 {
		ts.Fatalf("%s has no probes", args[1])
	}
}

func certify(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: serial, NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o700))
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: raw}, "tls.key": {Type: "PRIVATE KEY", Bytes: secret}} {
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), name), pem.EncodeToMemory(block), 0o600))
	}
}
