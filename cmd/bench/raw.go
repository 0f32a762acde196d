package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// rawConcurrency is the number of requests at a time for the physical limit: as many as a member
// sends at a time, apart from renewals.
const rawConcurrency = 24

// throughput measures the API server alone: one client creates n Leases, then updates each once,
// as fast as rawConcurrency allows, in a namespace of its own.
func (c *cluster) throughput(ctx context.Context, n int) (found alone, err error) {
	c.references++
	namespace := fmt.Sprintf("raw-%d", c.references)
	if err := c.makeNamespace(ctx, namespace); err != nil {
		return found, err
	}
	store, err := c.store(namespace)
	if err != nil {
		return found, err
	}
	versions := make([]record.Version, n)
	round := func(transitions int) (float64, error) {
		var wg sync.WaitGroup
		var next atomic.Int64
		errs := make([]error, rawConcurrency)
		began := time.Now()
		for w := range rawConcurrency {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					r := record.Record{Holder: "raw", Duration: 15 * time.Second, Transitions: transitions, Group: "raw", Election: electionName(i)}
					if transitions > 1 { // as large as the record at the start of a term
						r.Mark = &record.Mark{
							Identity: "raw", Transitions: transitions, Key: "stable", Session: "primacy-scale-crowd-0-0", SessionUID: versions[i].UID,
							Beat: 1, Duration: 15 * time.Second, Renewal: record.RenewalSession,
						}
						r.Token, r.History = record.Token(versions[i].Revision), []record.Entry{{Who: "raw", Why: "took over: unowned"}}
					}
					if versions[i], errs[w] = store.Put(ctx, electionName(i), r, versions[i]); errs[w] != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		return float64(n) / time.Since(began).Seconds(), errors.Join(errs...)
	}
	if found.Creates, err = round(1); err != nil {
		return found, fmt.Errorf("raw throughput: %w", err)
	}
	if found.Updates, err = round(2); err != nil {
		return found, fmt.Errorf("raw throughput: %w", err)
	}
	return found, nil
}
