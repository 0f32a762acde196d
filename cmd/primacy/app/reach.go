package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
)

// patience is how long we wait for an API server that does not answer. Tests set less.
var patience = 30 * time.Second

const (
	askTimeout = 5 * time.Second
	askAgain   = time.Second
	// remind is the time between two lines that say what we wait for.
	remind = 5 * time.Second
)

// waiting describes a wait for an API server.
type waiting struct {
	server string
	atMost time.Duration
	err    error
}

// insistence asks an API server again and again, until it answers or time is up.
type insistence struct {
	waiting
	say func(waiting)
	// said is when on last called say.
	said time.Time
}

// on calls ask until it succeeds or ctx ends. It returns the error of ask at once if asking
// again is pointless. ask must be harmless when repeated.
func (i *insistence) on(ctx context.Context, ask func(context.Context) error) error {
	i.err = errSilent
	for {
		err := askOnce(ctx, ask)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			i.err = cause(err)
		}
		if hopeless(i.server, err) != nil {
			return err
		}
		if now := time.Now(); now.Sub(i.said) >= remind {
			i.said = now
			i.say(i.waiting)
		}
		if !clock.Wait(ctx, askAgain) {
			return i.givesUp()
		}
	}
}

func askOnce(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return ask(ctx)
}

func (i *insistence) givesUp() error {
	if api := apierrors.APIStatus(nil); errors.As(i.err, &api) {
		return fmt.Errorf("API server %s answers with errors: %w; gave up after %v (is it overloaded, or about to start?)", i.server, i.err, i.atMost)
	}
	return fmt.Errorf("API server %s cannot be reached: %w; gave up after %v (is it running, and is this the right kubeconfig?)", i.server, i.err, i.atMost)
}

// reach waits up to patience until the API server answers, and finds out whether it accepts
// our credentials. It calls say at intervals while it waits.
func reach(ctx context.Context, c *rest.Config, patience time.Duration, say func(waiting)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return reachWith(ctx, c, &insistence{waiting: waiting{server: c.Host, atMost: patience}, say: say})
}

func reachWith(ctx context.Context, c *rest.Config, i *insistence) error {
	client, err := versionClient(c)
	if err != nil {
		return fmt.Errorf("client for %s: %w (check the kubeconfig)", c.Host, err)
	}
	err = i.on(ctx, func(ctx context.Context) error { return askVersion(ctx, client) })
	if final := hopeless(c.Host, err); final != nil {
		return final
	}
	return err
}

// versionClient asks for paths without an API group.
func versionClient(c *rest.Config) (rest.Interface, error) {
	c = rest.CopyConfig(c)
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return apiserver.ClientFor(c, rest.UnversionedRESTClientForConfigAndClient)
}

func askVersion(ctx context.Context, client rest.Interface) error {
	err := client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
	if apierrors.IsForbidden(err) {
		return nil // it answers, and accepts our credentials
	}
	return err
}

// hopeless says why asking again is pointless; nil if it is not.
func hopeless(host string, err error) error {
	var (
		untrusted *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		notTLS    tls.RecordHeaderError
		alert     tls.AlertError
		api       apierrors.APIStatus
	)
	switch {
	case errors.As(err, &untrusted), errors.As(err, &authority):
		return fmt.Errorf("API server %s is not the one that the kubeconfig is for: %w (was the cluster made anew? get its present kubeconfig)", host, cause(err))
	case errors.As(err, &notTLS), errors.As(err, &alert), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("API server %s: %w (check the server's address and the certificates in the kubeconfig)", host, cause(err))
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("API server %s does not accept the credentials: %w (is the kubeconfig for this cluster, and have its credentials expired?)", host, err)
	case errors.As(err, &api) && api.Status().Code < http.StatusInternalServerError && !apierrors.IsTooManyRequests(err):
		return fmt.Errorf("%s does not answer like an API server: %w (check the server's address in the kubeconfig)", host, err)
	}
	return nil
}

var errSilent = errors.New("no answer")

// cause is the error without its description of the request.
func cause(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errSilent
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
