package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The first argument of the test's binary when it runs as a party of a test.
const (
	roleElector = "as-elector"
	roleMember  = "as-member"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case roleElector:
			exit(elector.Main(os.Args[2:]))
		case roleMember:
			exit(elector.Serve(os.Args[2:], func(ctx context.Context, config *rest.Config, options string, say func(elector.Event)) error {
				var o entry
				if err := json.Unmarshal([]byte(options), &o); err != nil {
					return err
				}
				return takePart(ctx, config, o, nil, say)
			}))
		}
	}
	flag.Parse()
	// More cases than processors run at once, since they wait far more than they compute.
	if err := errors.Join(flag.Set("test.parallel", "6"), elector.Quiet()); err != nil {
		exit(err)
	}
	devcluster.Main(m)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// long says whether to run at the timings that users have.
var long = os.Getenv("PRIMACY_LONG") != ""

// ours and theirs are the timings of a case.
func ours() record.Timing {
	name := "fast"
	if long {
		name = record.DefaultProfile
	}
	t, err := record.Profile(name)
	if err != nil {
		panic(err)
	}
	t.PreemptDelay = 0
	return t
}

func theirs() elector.Options {
	if long {
		return elector.Options{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	}
	return elector.Options{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond}
}

// count is how many elections a case has.
func count(n int) int {
	if long {
		return min(n, 3)
	}
	return n
}
