// Package mutants shows that tests find a broken rule: it breaks one rule in a copy of one
// file, compiles a package's tests with that copy, and runs them.
//
// An Edit is the change that breaks a rule. The simulator and the explorer search schedules that reveal an
// Edit of the machine or the driver. For every other rule of the product, the table in this package's tests
// names the test that fails if the rule is broken. `make mutants` runs that table.
//
// This package never writes to the repository. No process or file outlives the call that started it.
package mutants
