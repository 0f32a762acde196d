package config

import (
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
}

// TLS names the files of a certificate and its key; both are empty without TLS.
type TLS struct{ CertFile, KeyFile string }

// Access says who may read the endpoints other than /livez and /readyz.
type Access string

const (
	// AccessOpen: whoever reaches them. Only on loopback addresses.
	AccessOpen Access = "open"
	// AccessToken: who has a token that the API server knows, and the right to the path.
	AccessToken Access = "token"
)

// Served says whether there are endpoints.
func (h HTTP) Served() bool { return h.Address != "" }

// Loopback says whether only this machine reaches the endpoints.
func (h HTTP) Loopback() bool {
	at, err := netip.ParseAddrPort(h.Address)
	return err == nil && at.Addr().IsLoopback()
}

// Port is the port of the endpoints; zero means that the system chooses one.
func (h HTTP) Port() uint16 {
	_, port, _ := net.SplitHostPort(h.Address)
	n, _ := strconv.ParseUint(port, 10, 16) // resolve has checked it
	return uint16(n)
}

type httpDoc struct {
	Address string  `yaml:"address" strict:"required"`
	TLS     *tlsDoc `yaml:"tls,omitempty"`
	Access  string  `yaml:"access,omitempty"`
}

type tlsDoc struct {
	CertFile string `yaml:"certFile" strict:"required"`
	KeyFile  string `yaml:"keyFile" strict:"required"`
}

// metricsDoc is the former place of the address.
type metricsDoc struct {
	Address string `yaml:"address"`
}

// moved refuses the block that http replaced.
func (r *resolver) moved(doc *metricsDoc) {
	if doc != nil {
		r.fail("metrics", "write http: {address: "+shortest(doc.Address, "127.0.0.1:9090")+"}; it serves /metrics and more", "has become http")
	}
}

// shortest is what the document says, unless it says nothing, or too much for a hint.
func shortest(written, otherwise string) string {
	if written == "" || len(written) > 60 {
		return otherwise
	}
	return strconv.Quote(written)
}

// http resolves where the endpoints are served, and to whom.
func (r *resolver) http(doc *httpDoc) {
	if doc == nil {
		return
	}
	h := HTTP{Address: doc.Address, Access: Access(doc.Access)}
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
		r.fail(field, hint, "%.70q is no address with a port", text)
	}
}

func (h HTTP) canonical() *httpDoc {
	if !h.Served() {
		return nil
	}
	doc := &httpDoc{Address: h.Address, Access: string(h.Access)}
	if h.TLS != (TLS{}) {
		doc.TLS = &tlsDoc{h.TLS.CertFile, h.TLS.KeyFile}
	}
	return doc
}
