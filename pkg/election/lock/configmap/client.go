package configmap

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
)

// Client gives access to the API group of ConfigMaps. A clientset's CoreV1() is a Client, but
// shares the clientset's rate limit; see NewClient.
type Client = apiserver.Client

// APIClient is a Client with connections of its own. See NewClient.
type APIClient = apiserver.APIClient

// NewClient makes a client as apiserver.NewClient does.
func NewClient(config *rest.Config) (*APIClient, error) {
	return apiserver.NewClient(config, apiserver.Group{
		Path: "/api", Version: corev1.SchemeGroupVersion, Types: []runtime.Object{&corev1.ConfigMap{}, &corev1.ConfigMapList{}},
	})
}
