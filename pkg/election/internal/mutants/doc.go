// Package mutants shows that tests find a broken rule: it breaks one rule in a copy of one
// file, compiles a package's tests over that copy, and runs them.
//
// An Edit is such a break. The simulator and the explorer hunt through schedules for one of
// the machine's; the table in this package's tests names, for each rule of everything else
// that the product does, the test that keeps it. `make mutants` runs that table.
//
// The repository is never written to. Nothing outlives the call that started it.
package mutants
