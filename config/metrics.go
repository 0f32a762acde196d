package config

import (
	"net/netip"
)

// metricsDoc says where metrics are served.
type metricsDoc struct {
	// A loopback address with a port, such as `127.0.0.1:9090`. Any other is refused, since there is no authentication.
	Address string `yaml:"address" strict:"required"`
}

// metrics resolves the address that serves metrics: loopback only, since there is no
// authentication.
func (r *resolver) metrics(doc *metricsDoc) {
	if doc == nil {
		return
	}
	const field, hint = "metrics.address", "write 127.0.0.1:9090, or 127.0.0.1:0 for any free port"
	at, err := netip.ParseAddrPort(doc.Address)
	switch {
	case err != nil:
		r.fail(field, hint, "%.70q is no address with a port", doc.Address)
	case !at.Addr().IsLoopback():
		r.fail(field, "write 127.0.0.1 and the port; to let others read them, put a proxy with authentication before it", "%s is not a loopback address, and metrics are served without authentication", at.Addr())
	default:
		r.cfg.Metrics = at
	}
}
