package mutants_test

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/mutants"
)

// row is one rule of the product, how it is broken, and who finds that.
type row struct {
	// name is of the form part/what-goes-wrong, and rule says what should be.
	name, rule string
	// file is below the root of the repository. What is old there occurs exactly once.
	file     string
	old, new string
	// pkg and test name the test that kills the mutant every time, by itself.
	pkg, test string
	// equivalent proves, where no test is named, that nobody can tell the mutant from the code.
	equivalent string
}

func (r row) edit() mutants.Edit { return mutants.Edit{File: r.file, Old: r.old, New: r.new} }

// table is all rows; a new part of the product has a file of its own.
var table = slices.Concat(driverRows, reachRows, sessionRows, disownedRows, streamRows, steeringRows, reloadRows, weatherRows, runnersRows)
