package endpoints

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/internal/bounded"
	"github.com/primacy-dev/primacy/internal/watchfile"
)

// certificate is a pair of files, which it reads again whenever they change. If it cannot use what it reads, it keeps the
// pair that it has.
type certificate struct {
	files config.TLS
	log   *zap.Logger
	now   atomic.Pointer[tls.Certificate]

	mu      sync.Mutex // of look, which one goroutine for each folder calls
	failure string     // the last one that was logged; empty after a success
}

func newCertificate(files config.TLS, log *zap.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log}
	pair, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w (http.tls names the files)", err)
	}
	c.now.Store(pair)
	c.warn(pair)
	return c, nil
}

// mostCertificate is more bytes than a chain or a key has.
const mostCertificate = 1 << 20

func (c *certificate) read() (*tls.Certificate, error) {
	var texts [2][]byte
	for i, name := range []string{c.files.CertFile, c.files.KeyFile} {
		var err error
		if texts[i], err = readPart(name); err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &pair, nil
}

// warn warns of a certificate that clients refuse by its dates. It is served all the same: the one before may be no better.
func (c *certificate) warn(pair *tls.Certificate) {
	if now := time.Now(); now.Before(pair.Leaf.NotBefore) || now.After(pair.Leaf.NotAfter) {
		c.log.Warn("the certificate of the endpoints is not valid now, so clients may refuse it",
			zap.Time("notBefore", pair.Leaf.NotBefore), zap.Time("notAfter", pair.Leaf.NotAfter))
	}
}

// readPart reads a chain or a key.
func readPart(name string) ([]byte, error) {
	f, err := watchfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostCertificate+1))
	if err == nil && len(text) > mostCertificate {
		err = fmt.Errorf("%s has more than %d bytes", name, mostCertificate)
	}
	return text, err
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil }

// again is the pause before it looks again at files that it could not use, even if their folder is quiet.
const again = 5 * time.Second

// follow takes up changed files until ctx ends. If their disk does not answer, it returns soon after ctx has ended all the same;
// the goroutines that it leaves behind only keep the certificate.
func (c *certificate) follow(ctx context.Context) {
	if err := bounded.Call(ctx, leaveTime, func() error { c.followFolders(ctx); return nil }); err != nil {
		c.log.Error("what follows the certificate of the endpoints does not end, and is left behind (does a disk not answer?)", zap.Error(err))
	}
}

func (c *certificate) followFolders(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	folders := map[string]string{filepath.Dir(c.files.CertFile): c.files.CertFile, filepath.Dir(c.files.KeyFile): c.files.KeyFile}
	for _, file := range folders {
		wg.Go(func() {
			if err := watchfile.Watch(ctx, file, watchfile.Settle, c.look, watchfile.Stall{}); err != nil {
				c.log.Error("the certificate of the endpoints is not followed any more; restart to take up changes", zap.Error(err))
			}
		})
	}
}

// look reads the files.
func (c *certificate) look() (next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pair, err := c.read()
	if err != nil {
		if text := err.Error(); text != c.failure {
			c.failure = text
			c.log.Error("the changed certificate of the endpoints cannot be used; the one before stays in use", zap.Error(err))
		}
		return time.Now().Add(again)
	}
	before := c.now.Swap(pair)
	if c.failure = ""; !bytes.Equal(before.Leaf.Raw, pair.Leaf.Raw) {
		c.log.Info("the certificate of the endpoints has changed", zap.Time("notAfter", pair.Leaf.NotAfter))
		c.warn(pair)
	}
	return time.Time{}
}
