package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// admissionPlugins are the admission plugins that stay on. PodSecurity refuses only in namespaces with its labels. The
// others serve quotas and volumes, or wait for controllers that do not run here.
var admissionPlugins = []string{
	"NamespaceLifecycle",
	"MutatingAdmissionPolicy",
	"MutatingAdmissionWebhook",
	"PodSecurity",
	"ValidatingAdmissionPolicy",
	"ValidatingAdmissionWebhook",
}

// drainTimeout is how long a stop waits for connections. A watch holds its
// connection for ever, so a stop mostly takes this long.
const drainTimeout = 250 * time.Millisecond

// apiServer is a running kube-apiserver.
type apiServer struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	err    error         // why it ended; valid once done is closed
}

// startAPIServer starts kube-apiserver on the listener ln, which it then owns. It returns before the
// server is ready.
func startAPIServer(ctx context.Context, ln net.Listener, pkiDir string, extra []string) (*apiServer, error) {
	opts, err := apiServerOptions(ctx, ln, append(apiServerFlags(portOf(ln), pkiDir), extra...))
	if err != nil {
		return nil, fmt.Errorf("configure kube-apiserver: %w", err)
	}
	config, err := app.NewConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("configure kube-apiserver: %w", err)
	}
	completed, err := config.Complete()
	if err != nil {
		return nil, fmt.Errorf("configure kube-apiserver: %w", err)
	}
	if ctx.Err() != nil { // here and below: the next call takes long and ignores ctx
		return nil, context.Cause(ctx)
	}
	chain, err := app.CreateServerChain(completed)
	if err != nil {
		return nil, fmt.Errorf("start kube-apiserver: %w", err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	chain.GenericAPIServer.ShutdownTimeout = drainTimeout
	prepared, err := chain.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("start kube-apiserver: %w", err)
	}

	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}

	// The end of ctx does not stop the server, only stop does: others may need the server for their clean-up
	// when ctx ends.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &apiServer{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.err = prepared.Run(runCtx)
	}()
	return s, nil
}

// stop stops the server, and waits for its end, at most for atMost.
func (s *apiServer) stop(atMost time.Duration) {
	s.cancel()
	select {
	case <-s.done:
	case <-time.After(atMost):
	}
}

func apiServerFlags(port int, pkiDir string) []string {
	pki := func(name string) string { return filepath.Join(pkiDir, name) }
	return []string{
		"--etcd-servers=" + etcdEndpoint,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + pki(serverCertFile),
		"--tls-private-key-file=" + pki(serverKeyFile),
		"--client-ca-file=" + pki(caCertFile),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki(saKeyFile),
		"--service-account-signing-key-file=" + pki(saKeyFile),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none", // no pod has to find this server
		"--profiling=false",
	}
}

func apiServerOptions(ctx context.Context, ln net.Listener, args []string) (apiserveroptions.CompletedOptions, error) {
	var none apiserveroptions.CompletedOptions
	o := apiserveroptions.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	sets := o.Flags()
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return none, err
	}
	o.SecureServing.Listener = ln
	o.Admission.GenericAdmission.EnablePlugins = admissionPlugins
	o.Admission.GenericAdmission.DisablePlugins = slices.DeleteFunc(slices.Clone(kubeoptions.AllOrderedPlugins),
		func(name string) bool { return slices.Contains(admissionPlugins, name) })

	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return none, err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := o.Complete(ctx)
	if err != nil {
		return none, err
	}
	return completed, utilerrors.NewAggregate(completed.Validate())
}
