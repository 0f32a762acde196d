package mutants_test

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/mutants"
)

// row is one rule of the product, an edit that breaks it, and the test that then fails.
type row struct {
	// name is of the form part/what-goes-wrong, and rule says what should happen.
	name, rule string
	// file is a path below the root of the repository. The file contains old exactly once.
	file     string
	old, new string
	// pkg and test name the test that kills the mutant every time, without help from other tests.
	pkg, test string
	// equivalent proves, if there is no test, that nobody can tell the mutant from the code.
	equivalent string
}

func (r row) edit() mutants.Edit { return mutants.Edit{File: r.file, Old: r.old, New: r.new} }

// table is all rows. Each part of the product has its own file of rows.
var table = slices.Concat(driverRows, outageRows, reachRows, sessionRows, putBackRows, atWorkRows, deathRows, parentRows, wordRows, fenceRows, disownedRows, streamRows, foreignRows, steeringRows, operatorsRows,
	reloadRows, weatherRows, runnersRows, limitsRows, endpointsRows, sweepRows, absenceRows, placesRows, forcedRows, migratingRows, hostRows, programRows, livenessRows)
