package endpoints

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// writePair writes a certificate for 127.0.0.1 and its key, as files of a folder.
func writePair(t *testing.T, dir string, serial int64) config.TLS {
	t.Helper()
	return writePairUntil(t, dir, serial, time.Now().Add(time.Hour))
}

func writePairUntil(t *testing.T, dir string, serial int64, notAfter time.Time) config.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: notAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files := config.TLS{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	for name, block := range map[string]*pem.Block{files.CertFile: {Type: "CERTIFICATE", Bytes: raw}, files.KeyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestCertificateReload swaps a certificate as kubelet does, and then for one that cannot be used, while the endpoints
// are served.
func TestCertificateReload(t *testing.T) {
	mount := t.TempDir()
	// publish makes the files of a version the mounted ones, by the swap of one link.
	publish := func(version string, write func(dir string)) {
		dir := filepath.Join(mount, version)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(dir)
		if err := os.Symlink(version, filepath.Join(mount, "..new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(mount, "..new"), filepath.Join(mount, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	publish("..1", func(dir string) { writePair(t, dir, 1) })
	files := config.TLS{CertFile: filepath.Join(mount, "tls.crt"), KeyFile: filepath.Join(mount, "tls.key")}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(mount, name)); err != nil {
			t.Fatal(err)
		}
	}
	said := make(chan string, 16)
	log := zap.New(zapcore.NewNopCore(), zap.WrapCore(func(zapcore.Core) zapcore.Core {
		return zapcore.RegisterHooks(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), nowhere{}, zap.InfoLevel), func(e zapcore.Entry) error {
			said <- e.Message
			return nil
		})
	}))
	await := func(what string) {
		t.Helper()
		late := clock.NewTimer(patience)
		defer late.Stop()
		for {
			select {
			case line := <-said:
				if strings.Contains(line, what) {
					return
				}
			case <-late.C:
				t.Fatalf("it did not log %q", what)
			}
		}
	}
	m, err := election.NewManager(election.Config{Group: "edge", Host: "m1", Member: election.Member{Revision: "r"}, Locks: memory.New(clock.Boottime()).Store()})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{HTTP: config.HTTP{Address: "127.0.0.1:0", TLS: files, Access: config.AccessOpen}, Health: m, Elections: m, Log: log})
	serial := func() int64 {
		t.Helper()
		c, err := tls.Dial("tcp", s.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true}) // #nosec G402 -- it looks at the certificate itself
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	await("serving endpoints")
	if got := serial(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	at := time.Now()
	publish("..2", func(dir string) { writePair(t, dir, 2) })
	await("the certificate of the endpoints has changed")
	took := time.Since(at)
	if got := serial(); got != 2 {
		t.Errorf("certificate %d, want 2", got)
	}
	publish("..3", func(dir string) {
		other := writePair(t, dir, 3)
		if err := os.WriteFile(other.KeyFile, []byte("no key"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	await("the changed certificate of the endpoints cannot be used; the one before stays in use")
	if got := serial(); got != 2 {
		t.Errorf("certificate %d, want the one before, 2", got)
	}
	publish("..pipe", func(dir string) { // nobody writes into it
		files := writePair(t, dir, 3)
		if err := errors.Join(os.Remove(files.CertFile), syscall.Mkfifo(files.CertFile, 0o600)); err != nil {
			t.Fatal(err)
		}
	})
	await("the changed certificate of the endpoints cannot be used; the one before stays in use")
	publish("..4", func(dir string) { writePair(t, dir, 4) })
	await("the certificate of the endpoints has changed")
	if got := serial(); got != 4 {
		t.Errorf("certificate %d, want 4", got)
	}
	publish("..5", func(dir string) { writePairUntil(t, dir, 5, time.Now().Add(-time.Hour)) })
	await("the certificate of the endpoints is not valid now, so clients may refuse it")
	if got := serial(); got != 5 {
		t.Errorf("certificate %d, want 5", got)
	}
	t.Logf("a changed certificate was in use after %v", took.Round(time.Millisecond))
}

// TestCertificateMissing checks that nothing is served with a certificate that cannot be read.
func TestCertificateMissing(t *testing.T) {
	files := writePair(t, t.TempDir(), 1)
	files.KeyFile += ".absent"
	_, err := Listen(t.Context(), Config{HTTP: config.HTTP{Address: "127.0.0.1:0", TLS: files}, Reviewer: &Reviewer{}, Log: zap.NewNop()})
	if err == nil || !strings.Contains(err.Error(), "tls.key.absent: no such file or directory (http.tls names the files)") {
		t.Errorf("got %v", err)
	}
}

// TestCertificateTooLarge checks that a file that is no certificate, by its size alone, is not read.
func TestCertificateTooLarge(t *testing.T) {
	files := writePair(t, t.TempDir(), 1)
	if err := os.Truncate(files.CertFile, mostCertificate+1); err != nil {
		t.Fatal(err)
	}
	_, err := Listen(t.Context(), Config{HTTP: config.HTTP{Address: "127.0.0.1:0", TLS: files}, Reviewer: &Reviewer{}, Log: zap.NewNop()})
	if err == nil || !strings.Contains(err.Error(), "has more than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
}

// TestNobodyToAsk checks that endpoints for which clients need a right are not served by a Server that cannot ask for it.
func TestNobodyToAsk(t *testing.T) {
	for _, h := range []config.HTTP{{Address: "127.0.0.1:0"}, {Address: "127.0.0.1:0", Access: config.AccessToken}, {Address: ":0", Access: config.AccessOpen}} {
		if s, err := Listen(t.Context(), Config{HTTP: h, Log: zap.NewNop()}); err == nil || !strings.Contains(err.Error(), "need a Reviewer") {
			t.Errorf("%+v: got %v, %v", h, s, err)
		}
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Sync() error                 { return nil }
