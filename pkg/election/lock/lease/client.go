package lease

import (
	"fmt"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Client gives access to the API group of Leases. A clientset's CoordinationV1() is one,
// but shares that clientset's rate limit; see NewClient.
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
	c.GroupVersion = &coordinationv1.SchemeGroupVersion
	c.APIPath = "/apis"
	c.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, codecs).WithoutConversion()
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c.QPS, c.Burst, c.RateLimiter = -1, 0, nil
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("lease client: %w", err)
	}
	r, err := rest.RESTClientForConfigAndClient(c, h)
	if err != nil {
		return nil, fmt.Errorf("lease client: %w", err)
	}
	return &APIClient{rest: r, http: h}, nil
}

// RESTClient implements Client.
func (c *APIClient) RESTClient() rest.Interface { return c.rest }

// CloseIdleConnections closes connections that no request uses at this moment.
func (c *APIClient) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// The scheme knows Leases and nothing else, which keeps the types of some fifty other
// groups out of the program.
var (
	scheme = newScheme()
	codecs = serializer.NewCodecFactory(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(s); err != nil {
		panic(err)
	}
	metav1.AddToGroupVersion(s, metav1.Unversioned)
	return s
}
