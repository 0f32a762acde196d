package record

import "testing"

func TestHosts(t *testing.T) {
	hosts := HostsOf("web-1", "web-0", "web-1", "edge.example")
	if hosts != "edge.example,web-0,web-1" || HostsOf() != "" {
		t.Errorf("got %q and %q", hosts, HostsOf())
	}
	p := Preferred{State: PreferredUnset, Drained: hosts}
	for identity, want := range map[string]bool{
		"web-0_0a1b2c3d": true, "edge.example_00000001": true, "web-00_0a1b2c3d": false, "web_0a1b2c3d": false,
		"web-0": false, "": false, "web-0_0A1B2C3D": false, // no identity of ours
	} {
		if got := p.Drains(identity); got != want {
			t.Errorf("%v drains %q: %v", p, identity, got)
		}
	}
	for _, host := range []string{"", "web", "web-0,web-1", "e"} {
		if hosts.Has(host) {
			t.Errorf("%q has %q", hosts, host)
		}
	}
}
