package main

import (
	"fmt"
	"slices"
	"time"
)

// sample is a set of durations.
type sample []time.Duration

// at is the q-quantile, by nearest rank; zero for an empty sample.
func (s sample) at(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	i := int(q*float64(len(sorted))+0.9999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

// row is the sample as a line of the table, with its ratio to the reference.
func (s sample) row(name string, reference time.Duration) string {
	ratio := func(d time.Duration) string {
		if reference == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", float64(d)/float64(reference))
	}
	return fmt.Sprintf("%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s", name, len(s), ms(s.at(.5)), ms(s.at(.9)), ms(s.at(.99)), ms(s.at(1)), ratio(s.at(.5)), ratio(s.at(.99)))
}

const header = "\tn\tp50 ms\tp90 ms\tp99 ms\tmax ms\tp50 ratio\tp99 ratio"
