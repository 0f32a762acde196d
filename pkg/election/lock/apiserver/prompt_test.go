//go:build unix

package apiserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestCredentialsThatHang checks that a request ends with its context while the program that gives out the credentials
// hangs, that as many as there may be do, and that requests go on once it answers.
func TestCredentialsThatHang(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Header.Get("Authorization")))
	}))
	defer server.Close()
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() {
		f, err := os.OpenFile(gate, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		if _, err := f.WriteString("go\ngo\n"); err != nil {
			t.Fatal(err)
		}
	}
	config := &rest.Config{Host: server.URL, ExecProvider: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode, Command: "sh",
		Args: []string{"-c", `read line < "$0"; echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}'`, gate},
	}}
	client, err := HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	get := func(within time.Duration) (sent string, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return "", err
		}
		response, err := client.Do(r)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		all, err := io.ReadAll(response.Body)
		return string(all), err
	}
	ended := make(chan error, mostHeldUp+1)
	for range mostHeldUp + 1 {
		go func() {
			_, err := get(time.Millisecond)
			ended <- err
		}()
	}
	patience := time.After(20 * time.Second)
	for range mostHeldUp + 1 {
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want one that says that its time was over", err)
			}
		case <-patience:
			t.Fatal("a request goes on after its time")
		}
	}
	open()
	if sent, err := get(time.Minute); err != nil || sent != "Bearer t" {
		t.Errorf("sent %q, %v, want the credentials, since the program has answered", sent, err)
	}
}

// deaf is a transport that answers no request before it is closed, whatever becomes of the request's context.
type deaf chan struct{}

func (d deaf) RoundTrip(*http.Request) (*http.Response, error) { <-d; return nil, errors.New("closed") }

// TestAnswersThatHang checks that the error of a request that nobody answers does not blame the program of the credentials alone.
func TestAnswersThatHang(t *testing.T) {
	d := make(deaf)
	defer close(d)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&prompt{next: d, giver: giver{name: "login"}, slots: make(chan struct{}, 1)}).RoundTrip(r)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no credentials from login, or no answer: ") {
		t.Errorf("error %v, want one that says that there may be no answer", err)
	}
}

// TestTokenFileThatHangs checks that a request ends with its context while the file of the token does not answer, and that
// its error names the file.
func TestTokenFileThatHangs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token") // a pipe without a writer hangs like a disk
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := HTTPClientFor(&rest.Config{Host: server.URL, BearerToken: "t", BearerTokenFile: file})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() {
		response, err := client.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		ended <- err
	})
	select {
	case err := <-ended:
		if want := "no credentials from " + file + ", or no answer: "; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says that its time was over, and %q", err, want)
		}
	case <-clock.NewTimer(10 * time.Second).C:
		t.Error("a request goes on after its time")
	}
	if err := os.WriteFile(file, []byte("t"), 0); err != nil { // otherwise the read would outlive the test
		t.Fatal(err)
	}
}

// TestGiver checks what requests are not to wait for.
func TestGiver(t *testing.T) {
	for want, config := range map[string]rest.Config{
		"login":  {ExecProvider: &clientcmdapi.ExecConfig{Command: "login"}, BearerTokenFile: "/token"},
		"cloud":  {AuthProvider: &clientcmdapi.AuthProviderConfig{Name: "cloud"}},
		"/token": {BearerTokenFile: "/token", TLSClientConfig: rest.TLSClientConfig{CAFile: "/ca"}},
		"/ca":    {TLSClientConfig: rest.TLSClientConfig{CAFile: "/ca"}},
		"":       {BearerToken: "t", TLSClientConfig: rest.TLSClientConfig{CAFile: "/ca", CAData: []byte("read already")}},
	} {
		if got := giverOf(&config).name; got != want {
			t.Errorf("the giver is %q, want %q", got, want)
		}
	}
}
