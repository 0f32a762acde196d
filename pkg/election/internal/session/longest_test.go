package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestTheLongestLeaseEver checks that a directory remembers the longest lease that a session published, of
// whatever group, after the session is gone (rule absence-counts).
func TestTheLongestLeaseEver(t *testing.T) {
	d := NewDirectory("edge", record.Timing{LeaseDuration: 15 * time.Second})
	shown := func(name, holder string, lease time.Duration, longest int, revision uint64) {
		d.Observe(1, name, &record.Record{
			Holder: holder, Duration: lease, Mark: &record.Mark{Identity: holder, Beat: 1, Duration: lease},
			Member: &record.Member{Identity: holder, Setup: record.Setup{LongestLease: longest}},
		}, record.Version{UID: name, Revision: revision})
	}
	for _, c := range []struct {
		name    string
		lease   time.Duration
		longest int
		want    time.Duration
	}{
		{"primacy-edge-a-0", 15 * time.Second, 15, 15 * time.Second},
		{"primacy-edge-b-0", 15 * time.Second, 60, 60 * time.Second},
		{"primacy-other-c-0", 90 * time.Second, 90, 90 * time.Second},
		{"primacy-edge-d-0", 15 * time.Second, 15, 90 * time.Second},
	} {
		shown(c.name, "x_01234567", c.lease, c.longest, 5)
		d.Observe(2, c.name, nil, record.Version{Revision: 6})
		if got := d.LongestEver(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		d.goneTo = 0
	}
}
