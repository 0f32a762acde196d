package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// foreignLeases is how many lease durations after its last renewal an elector of client-go's may be at work.
// The reply to that renewal may be late by a renewDeadline. The next attempts begin a retryPeriod later and end
// after a renewDeadline, and a release that hangs takes one more. client-go refuses a renewDeadline of a lease
// duration or more, and a retryPeriod of a renewDeadline / 1.2 or more, so all of it is less than
// 3 + 1 / 1.2 leases.
const foreignLeases = 4

// StopsAfter is how long after its last renewal an elector that is not ours may be at work. We wait so long before we
// work on its lock (rule claim-and-wait). own is our leaseDuration, and written the one in the elector's record; an hour
// at most of it counts.
func (f Foreigners) StopsAfter(own, written time.Duration) time.Duration {
	switch {
	case f.Wait > 0:
		return f.Wait
	case f.Sharing == SharedWithIstio:
		return istioStops
	}
	return foreignLeases * max(own, min(written, record.MaxLeaseDuration))
}
