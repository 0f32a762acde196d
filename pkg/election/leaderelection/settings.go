package leaderelection

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// group is the group of all electors. Each has a realm of its own for its session, so they share nothing but the
// lock.
const group = "leaderelection"

// settings are what a configuration means.
type settings struct {
	lock   *resourcelock.LeaseLock
	locks  *store
	names  *lease.Names
	config election.Config
	spec   election.Spec
}

func (c *LeaderElectionConfig) settings() (*settings, error) {
	l, is := c.Lock.(*resourcelock.LeaseLock)
	if !is {
		return nil, fmt.Errorf("lock is a %T (only a *resourcelock.LeaseLock can be used)", c.Lock)
	}
	client, err := clientOf(l)
	if err != nil {
		return nil, err
	}
	host := shortened(l.Identity())
	names := lease.NewNames(host, l.Identity())
	t := c.timing()
	locks := &store{
		SharedStore: lease.Shared(client, l.LeaseMeta.Namespace, lease.Named(names), lease.Labels(l.Labels)),
		pause:       c.RetryPeriod / 2, turn: make(chan struct{}, 1),
	}
	return &settings{
		lock: l, locks: locks, names: names,
		config: election.Config{
			Group: group, Host: host, Member: election.Member{Revision: record.DefaultRevision},
			Timing: t, Log: log(l.Describe()),
		},
		spec: election.Spec{
			Name: shortened(l.LeaseMeta.Name), Lock: l.LeaseMeta.Name, Locks: locks,
			Bootstrap: election.BootstrapImmediate,
			Foreign: election.Foreigners{
				Sharing: election.SharedWithClientGo,
				Wait:    c.wait(),
			},
		},
	}, nil
}

// wait is how long an elector of client-go with this configuration may be at work after its last renewal. The reply to
// that took at most RenewDeadline, the next attempt begins RetryPeriod later, and gives up after RenewDeadline. An elector
// that releases does not end its work before the release, which takes at most another RenewDeadline.
func (c *LeaderElectionConfig) wait() time.Duration {
	w := 2*c.RenewDeadline + c.RetryPeriod
	if c.ReleaseOnCancel {
		w += c.RenewDeadline
	}
	return max(w, record.LeastForeignWait)
}

// realm is a realm for the session of one Run.
func realm() *private {
	r := memory.New(clock.Boottime())
	return &private{Store: r.Store(), realm: r}
}

// timing is the three durations of client-go as ours.
func (c *LeaderElectionConfig) timing() record.Timing {
	t := record.Timing{
		LeaseDuration: (c.LeaseDuration + time.Second - 1).Truncate(time.Second),
		NominateDelay: spread, StandDown: c.RetryPeriod, Drift: record.DefaultDrift,
	}
	t.StopGrace = max(t.LeaseDuration-c.RenewDeadline, t.LeaseDuration/leastGrace)
	t.RenewInterval = min(c.RetryPeriod, (t.Validity()-t.StopGrace)/2)
	return t
}

const (
	// spread is over what time the followers spread their takes of a released lock.
	spread = 20 * time.Millisecond
	// leastGrace is which part of the lease the work gets to stop, at least.
	leastGrace = 5
)

// clientOf returns a client with the transport of the lock's client, without its time-out and its rate limit: the
// time-out would break each watch, and renewals must not queue behind other requests. Each request has a time-out of
// its own, and members bound their requests themselves.
func clientOf(l *resourcelock.LeaseLock) (lease.Client, error) {
	without := errors.New("the lock's client has no REST connection (a clientset's CoordinationV1() has one, a fake has none)")
	c, is := l.Client.(lease.Client)
	if !is {
		return nil, without
	}
	r, is := c.RESTClient().(*rest.RESTClient)
	if !is || r == nil {
		return nil, without
	}
	transport := http.DefaultTransport
	if r.Client != nil && r.Client.Transport != nil {
		transport = r.Client.Transport
	}
	version := coordinationv1.SchemeGroupVersion
	own, err := rest.NewRESTClient(r.Get().AbsPath().URL(), "/apis/"+version.String(), rest.ClientContentConfig{
		ContentType: runtime.ContentTypeJSON, GroupVersion: version,
		Negotiator: runtime.NewClientNegotiator(scheme.Codecs.WithoutConversion(), version),
	}, nil, &http.Client{Transport: transport})
	if err != nil {
		return nil, fmt.Errorf("client of the lock: %w", err)
	}
	return connection{own}, nil
}

type connection struct{ rest rest.Interface }

// RESTClient implements lease.Client.
func (c connection) RESTClient() rest.Interface { return c.rest }

var dns1123 = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

const maxName = 63

// shortened returns the name itself, if a host or an election may have that name; else a similar one of its own.
func shortened(name string) string {
	if len(name) <= maxName && dns1123.MatchString(name) {
		return name
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name)) // a hash never fails to write
	similar := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	similar = strings.Trim(similar[:min(len(similar), maxName-len("-0123456789abcdef"))], "-")
	return strings.TrimPrefix(fmt.Sprintf("%s-%016x", similar, sum.Sum64()), "-")
}

// exitAborted is the exit status of a process whose work could not be stopped.
const exitAborted = 70

// lastLogTime is how long the log may take before the process ends because OnStartedLeading does not return.
const lastLogTime = 100 * time.Millisecond

// flushed is a core that writes to klog. Sync has klog write what it holds back.
type flushed struct{ zapcore.Core }

// With implements zapcore.Core.
func (f flushed) With(fields []zapcore.Field) zapcore.Core { return flushed{f.Core.With(fields)} }

// Sync implements zapcore.Core.
func (f flushed) Sync() error {
	klog.Flush()
	return nil
}

// log is klog for a Manager.
func log(describes string) *zap.Logger {
	return election.Logr(klog.Background().WithValues("lock", describes)).WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return flushed{c} }))
}
