package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/pkg/election/metrics"
)

// cluster is an API server and the credentials for it.
type cluster struct {
	config *rest.Config
	// context is the name of the kubeconfig's context; empty in a Pod.
	context string
	// namespace is the namespace of the kubeconfig's context, or of the Pod.
	namespace string
	// requests counts those of a member; nil for other commands.
	requests *metrics.Requests
}

// findCluster reads the kubeconfig, and takes its current context. With an empty path it follows client-go's
// rules: KUBECONFIG, ~/.kube/config, or the Pod's service account. It sends no request.
func findCluster(kubeconfig string) (*cluster, error) { return findContext(kubeconfig, "") }

// findContext is findCluster for a context; empty for the current one.
func findContext(kubeconfig, context string) (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	c, err := loader.ClientConfig()
	if err != nil && context != "" {
		return nil, fmt.Errorf("kubeconfig: %w (check --context; kubectl config get-contexts lists them)", err)
	}
	if err != nil {
		return nil, kubeconfigError(kubeconfig, err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, kubeconfigError(kubeconfig, err)
	}
	if context == "" {
		raw, err := loader.RawConfig()
		if err != nil {
			return nil, kubeconfigError(kubeconfig, err)
		}
		context = raw.CurrentContext
	}
	c.UserAgent = "primacy/" + version
	// The users of these clients limit themselves. client-go's limit would only make
	// one request wait for another.
	c.QPS = -1
	return &cluster{config: c, context: context, namespace: namespace}, nil
}

func kubeconfigError(path string, err error) error {
	switch {
	case clientcmd.IsEmptyConfig(err) && path == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "":
		return fmt.Errorf("no cluster to talk to: KUBECONFIG is %s, where nothing names a cluster (check that the file is there, or give --kubeconfig FILE)", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	case clientcmd.IsEmptyConfig(err) && path == "":
		return errors.New("no cluster to talk to (give --kubeconfig FILE, set KUBECONFIG, or run in a Pod with a service account)")
	case clientcmd.IsEmptyConfig(err):
		return fmt.Errorf("kubeconfig %s names no cluster (write one with current-context set)", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("kubeconfig: %w (check --kubeconfig, PRIMACY_KUBECONFIG and KUBECONFIG)", err)
	case path == "":
		return fmt.Errorf("kubeconfig: %w (check KUBECONFIG or ~/.kube/config, or give --kubeconfig FILE)", err)
	}
	return fmt.Errorf("kubeconfig %s: %w (write a valid one with current-context set)", path, err)
}
