package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// requests are the API server's own counts of requests for Leases, by code.
type requests struct {
	at    time.Time
	codes map[string]float64
}

func (r requests) all() (n float64) {
	for _, k := range r.codes {
		n += k
	}
	return n
}

// since is the difference to an earlier count.
func (r requests) since(before requests) requests {
	d := requests{at: r.at, codes: map[string]float64{}}
	for code, n := range r.codes {
		if n -= before.codes[code]; n != 0 {
			d.codes[code] = n
		}
	}
	return d
}

// rate is requests per second since before.
func (r requests) rate(before requests) float64 {
	return r.since(before).all() / r.at.Sub(before.at).Seconds()
}

var codeLabel = regexp.MustCompile(`[{,]code="(\d+)"`)

// leaseRequests reads the counts. The API server counts a watch when it ends.
func (c *cluster) leaseRequests(ctx context.Context) (requests, error) {
	r := requests{codes: map[string]float64{}}
	client, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return r, fmt.Errorf("metrics: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.Host+"/metrics", nil)
	if err != nil {
		return r, fmt.Errorf("metrics: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return r, fmt.Errorf("metrics: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // we only read, so an error loses nothing
	if res.StatusCode != http.StatusOK {
		return r, fmt.Errorf("metrics: %s", res.Status)
	}
	r.at = time.Now()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		l := lines.Text()
		if !strings.HasPrefix(l, "apiserver_request_total{") || !strings.Contains(l, `resource="leases"`) {
			continue
		}
		n, err := strconv.ParseFloat(l[strings.LastIndexByte(l, ' ')+1:], 64)
		if err != nil {
			return r, fmt.Errorf("metrics: %w", err)
		}
		if m := codeLabel.FindStringSubmatch(l); m != nil {
			r.codes[m[1]] += n
		}
	}
	if err := lines.Err(); err != nil {
		return r, fmt.Errorf("metrics: %w", err)
	}
	return r, nil
}
