package endpoints

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestCertificateThatHangs checks that a certificate is not followed for long after the end though a look at its files hangs.
func TestCertificateThatHangs(t *testing.T) {
	files := writePair(t, t.TempDir(), 1)
	looks, disk := make(chan struct{}, 2), make(chan struct{})
	core, logs := observer.New(zap.ErrorLevel)
	c, err := newCertificate(files, zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if strings.Contains(e.Message, "cannot be used") { // look says so while it holds its lock
			looks <- struct{}{}
			<-disk
		}
		return nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(files.CertFile); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		c.follow(ctx)
	}()
	<-looks
	cancel()
	late := clock.NewTimer(10 * leaveTime)
	defer late.Stop()
	select {
	case <-followed:
	case <-late.C:
		t.Error("the certificate is followed long after the end")
	}
	close(disk)
	<-followed
	if n := logs.FilterMessageSnippet("is left behind").Len(); n != 1 {
		t.Errorf("the log says %d times that something is left behind, want once: %v", n, logs.All())
	}
}
