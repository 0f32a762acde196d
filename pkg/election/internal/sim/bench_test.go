package sim

import "testing"

// BenchmarkSeed runs the same 200 seeds again and again.
func BenchmarkSeed(b *testing.B) {
	b.ReportAllocs()
	for n := range b.N {
		if r := Run(uint64(n%200)+1, Options{}); r.Violation != "" { // #nosec G115 -- it is not negative
			b.Fatal(r.Violation)
		}
	}
}
