package deploytest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// TestTokenRotates replaces the token of a member in its file, as a kubelet does, and makes the old one worthless once client-go
// has read the new one: the member goes on.
func TestTokenRotates(t *testing.T) {
	t.Parallel()
	c := start(t)
	namespace := c.restricted("rotating")
	all := release{namespace: namespace}.objects(t)
	c.apply(all)
	dir := t.TempDir()
	tokenFile, kubeconfig, file := filepath.Join(dir, "token"), filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "primacy.yaml")
	replace := func(text string) {
		if err := os.WriteFile(tokenFile+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tokenFile+".new", tokenFile); err != nil {
			t.Fatal(err)
		}
	}
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}
	config.AuthInfos["u"] = &api.AuthInfo{TokenFile: tokenFile}
	config.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u", Namespace: namespace}
	config.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	text := of("ConfigMap", all)[0].Object["data"].(map[string]any)["primacy.yaml"].(string)
	if err := os.WriteFile(file, []byte(strings.Replace(text, ":8080", "127.0.0.1:0", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	first := c.boundToken(namespace, "first")
	replace(first)

	var said bytes.Buffer
	p := exec.CommandContext(t.Context(), program(t), "run", "--config", file, "--kubeconfig", kubeconfig, "--name", "a", "--revision", "1-9-0")
	p.Stderr = &said
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	c.beats(namespace, 2)
	replace(c.boundToken(namespace, "second"))
	c.beats(namespace, 24) // one comes every 3 s: client-go reads the file once a minute, and asks for a new token 10 s early
	if err := c.typed.CoreV1().Secrets(namespace).Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.refused(namespace, first)
	c.beats(namespace, 6) // for longer than a leaseDuration
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil || strings.Contains(said.String(), "not renewed in time") || !strings.Contains(said.String(), `"msg":"leading"`) {
		t.Errorf("the member: %v\n%s", err, said.String())
	}
}

// boundToken is a token of the members that is good for as long as a Secret is there.
func (c *cluster) boundToken(namespace, secret string) string {
	c.t.Helper()
	s, err := c.typed.CoreV1().Secrets(namespace).Create(c.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret}}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	answer, err := c.typed.CoreV1().ServiceAccounts(namespace).CreateToken(c.t.Context(), "primacy", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: s.Name, UID: s.UID}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.Status.Token
}

// beats waits until the session of the member was renewed that often.
func (c *cluster) beats(namespace string, times int) {
	c.t.Helper()
	w, err := c.typed.CoordinationV1().Leases(namespace).Watch(c.t.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=primacy-edge-a-0", TimeoutSeconds: new(int64(2 * longest.Seconds())),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if _, ok := e.Object.(*coordinationv1.Lease); !ok {
			continue
		}
		if times--; times < 0 {
			return
		}
	}
	c.t.Fatalf("%d beats of the member are missing", times)
}

// refused waits until the API server no longer knows a token.
func (c *cluster) refused(namespace, token string) {
	c.t.Helper()
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.t.Fatal(err)
	}
	defer closeIdle(c.t, config)
	for deadline := time.Now().Add(longest); ; {
		_, err := client.CoordinationV1().Leases(namespace).List(c.t.Context(), metav1.ListOptions{})
		if apierrors.IsUnauthorized(err) {
			return
		}
		if err != nil || time.Now().After(deadline) {
			c.t.Fatalf("the token is still good: %v", err)
		}
	}
}
