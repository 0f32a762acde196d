package config

import (
	"cmp"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// HTTP says where the endpoints of a member are served, and to whom. The zero value serves none.
type HTTP struct {
	// Address is an IP address with a port, or just a colon and a port, for all addresses of the machine.
	Address string
	TLS     TLS
	Access  Access
	Metrics Series
}

// TLS names the files of a certificate and its key; both are empty without TLS.
type TLS struct{ CertFile, KeyFile string }

// Access says who may read the endpoints other than /livez and /readyz.
type Access string

const (
	// AccessOpen: every client that reaches them. Only on loopback addresses.
	AccessOpen Access = "open"
	// AccessToken: clients with a token that the API server knows, whose owner has the right to the path.
	AccessToken Access = "token"
)

// Series says for what there are metrics.
type Series string

const (
	// SeriesEach: for each election, and for all together.
	SeriesEach Series = "each"
	// SeriesTotals: for all elections together.
	SeriesTotals Series = "totals"
)

// Served says whether there are endpoints.
func (h HTTP) Served() bool { return h.Address != "" }

// Loopback says whether only this machine reaches the endpoints.
func (h HTTP) Loopback() bool {
	at, err := netip.ParseAddrPort(h.Address)
	return err == nil && at.Addr().IsLoopback()
}

// ProbesOnly says whether nothing but /livez and /readyz is served, since a token could be read on its way.
func (h HTTP) ProbesOnly() bool { return h.Served() && !h.Loopback() && h.TLS == TLS{} }

// Port is the port of the endpoints; zero means that the system chooses one.
func (h HTTP) Port() uint16 {
	_, port, _ := net.SplitHostPort(h.Address)
	n, _ := strconv.ParseUint(port, 10, 16) // resolve has checked it
	return uint16(n)
}

type httpDoc struct {
	// An IP address and a port, such as `127.0.0.1:9090`; or `:8080`, for all addresses of the machine.
	Address string `yaml:"address" strict:"required"`
	// A certificate. The member takes up a changed one without a restart.
	TLS *tlsDoc `yaml:"tls,omitempty" otherwise:"plain HTTP"`
	// Who may read the endpoints other than `/livez` and `/readyz`. `open`: every client that reaches them; only on loopback addresses. `token`:
	// clients with a token that the API server knows, whose owner has the right to the path. On other addresses than loopback, `token` needs `tls`: without it, only `/livez`
	// and `/readyz` are served.
	Access string `yaml:"access,omitempty" oneof:"open token" otherwise:"open on a loopback address, else token"`
	// `each`: `/metrics` has series for each election. `totals`: only for all of them together, for a member with very many ([metrics.md](metrics.md)).
	Metrics string `yaml:"metrics,omitempty" otherwise:"each" oneof:"each totals"`
}

type tlsDoc struct {
	// A file with the certificate, and those of its issuers, in PEM.
	CertFile string `yaml:"certFile" strict:"required" form:"file"`
	// A file with its key, in PEM.
	KeyFile string `yaml:"keyFile" strict:"required" form:"file"`
}

// metricsDoc is the former place of the address.
type metricsDoc struct {
	// A loopback address with a port, such as `127.0.0.1:9090`.
	Address string `yaml:"address" strict:"required"`
}

// metrics resolves the block that http has replaced, so that files which had it stay valid.
func (r *resolver) metrics(doc *metricsDoc) {
	if doc == nil {
		return
	}
	const field, hint = "metrics.address", "write http: {address: 127.0.0.1:9090} in place of metrics, or port 0 for any free one"
	at, err := netip.ParseAddrPort(doc.Address)
	switch {
	case r.cfg.HTTP.Served():
		r.clash("metrics", "remove metrics", "is the former name of http, and both are there")
	case err != nil:
		r.fail(field, hint, "%.70q is no IP address with a port", doc.Address)
	case !at.Addr().IsLoopback():
		r.fail(field, "write http, which asks for tokens there", "%s is not a loopback address, and metrics serves without authentication", at.Addr())
	default:
		r.cfg.HTTP = HTTP{Address: doc.Address, Access: AccessOpen, Metrics: SeriesEach}
	}
}

// http resolves where the endpoints are served, and to whom.
func (r *resolver) http(doc *httpDoc) {
	if doc == nil {
		return
	}
	h := HTTP{Address: doc.Address, Access: Access(doc.Access), Metrics: Series(cmp.Or(doc.Metrics, string(SeriesEach)))}
	if problem, hint := notOneOf(string(h.Metrics), []string{string(SeriesEach), string(SeriesTotals)}); problem != "" {
		r.fail("http.metrics", hint, "%s", problem)
	}
	r.httpAddress(doc.Address)
	if doc.TLS != nil {
		h.TLS = TLS{doc.TLS.CertFile, doc.TLS.KeyFile}
		for field, file := range map[string]string{"http.tls.certFile": h.TLS.CertFile, "http.tls.keyFile": h.TLS.KeyFile} {
			if file == "" && r.given(field) {
				r.fail(field, "name a file", "is empty")
			}
		}
	}
	switch h.Access {
	case "":
		h.Access = AccessToken
		if h.Loopback() {
			h.Access = AccessOpen
		}
	case AccessOpen:
		if !h.Loopback() {
			r.clash("http.access", "write token, or 127.0.0.1 and the port in http.address", "open is only for loopback addresses, and %.70s is none", doc.Address)
		}
	case AccessToken:
	default:
		problem, hint := notOneOf(doc.Access, []string{string(AccessOpen), string(AccessToken)})
		r.fail("http.access", hint, "%s", problem)
	}
	r.cfg.HTTP = h
}

func (r *resolver) httpAddress(text string) {
	const field, hint = "http.address", "write :8080 for all addresses of this machine, 127.0.0.1:8080 for this machine only, or 127.0.0.1:0 for any free port"
	at := text
	if strings.HasPrefix(at, ":") {
		at = "0.0.0.0" + at
	}
	if _, err := netip.ParseAddrPort(at); err != nil {
		r.fail(field, hint, "%.70q is no IP address with a port", text)
	}
}

func (h HTTP) canonical() *httpDoc {
	if !h.Served() {
		return nil
	}
	doc := &httpDoc{Address: h.Address, Access: string(h.Access), Metrics: string(h.Metrics)}
	if h.TLS != (TLS{}) {
		doc.TLS = &tlsDoc{h.TLS.CertFile, h.TLS.KeyFile}
	}
	return doc
}
