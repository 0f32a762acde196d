package configmap

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Client gives access to the API group of ConfigMaps. A clientset's CoreV1() is one, but
// shares that clientset's rate limit; see NewClient.
type Client interface {
	RESTClient() rest.Interface
}

// APIClient is a Client with connections of its own. See NewClient.
type APIClient struct {
	rest rest.Interface
	http *http.Client
}

// NewClient makes a client that speaks protobuf and has no rate limit: whoever drives
// the store limits itself, and a renewal must not queue behind anything else. It uses
// what config says of host, credentials and transport, and leaves config alone.
func NewClient(config *rest.Config) (*APIClient, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion = &corev1.SchemeGroupVersion
	c.APIPath = "/api"
	c.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, codecs).WithoutConversion()
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c.QPS, c.Burst, c.RateLimiter = -1, 0, nil
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("configmap client: %w", err)
	}
	r, err := rest.RESTClientForConfigAndClient(c, h)
	if err != nil {
		return nil, fmt.Errorf("configmap client: %w", err)
	}
	return &APIClient{rest: r, http: h}, nil
}

// RESTClient implements Client.
func (c *APIClient) RESTClient() rest.Interface { return c.rest }

// CloseIdleConnections closes connections that no request uses at this moment.
func (c *APIClient) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// The scheme knows ConfigMaps and nothing else of the core group.
var (
	scheme = newScheme()
	codecs = serializer.NewCodecFactory(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	metav1.AddToGroupVersion(s, metav1.Unversioned)
	return s
}
