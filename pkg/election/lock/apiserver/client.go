package apiserver

import (
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Client gives access to an API group.
type Client interface {
	RESTClient() rest.Interface
}

// APIClient is a Client with connections of its own. See NewClient.
type APIClient struct {
	rest rest.Interface
	http *http.Client
}

// Group is an API group, with the types that a client knows: all types of all groups would
// make the program large.
type Group struct {
	// Path is /api for the core group, /apis for others.
	Path    string
	Version schema.GroupVersion
	Types   []runtime.Object
}

// NewClient makes a client that speaks protobuf and has no rate limit: the member limits
// itself, and a renewal must not queue behind anything else. NewClient uses the host,
// credentials and transport of config, and does not change config. The client shares its
// connections with no other, so that no other request holds a renewal up. They are Alive with
// the timings of the default profile, unless config has others.
func NewClient(config *rest.Config, group Group) (*APIClient, error) {
	c := Alive(config, defaultAlive())
	c.GroupVersion = &group.Version
	c.APIPath = group.Path
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(group.Version, group.Types...)
	metav1.AddToGroupVersion(scheme, group.Version)
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	c.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, serializer.NewCodecFactory(scheme)).WithoutConversion()
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c.QPS, c.Burst, c.RateLimiter = -1, 0, nil
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	h, err := HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", group.Version, err)
	}
	r, err := rest.RESTClientForConfigAndClient(c, h)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", group.Version, err)
	}
	return &APIClient{rest: r, http: h}, nil
}

// defaultAlive returns half of the outage that a term with the default timings survives.
func defaultAlive() time.Duration {
	t, err := record.Profile(record.DefaultProfile)
	if err != nil {
		panic(err) // the default profile always exists
	}
	return t.Outage() / 2
}

// RESTClient implements Client.
func (c *APIClient) RESTClient() rest.Interface { return c.rest }

// CloseIdleConnections closes connections that no request uses at this moment.
func (c *APIClient) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }
