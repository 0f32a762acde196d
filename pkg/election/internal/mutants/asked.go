package mutants

import (
	"os"
	"strings"
)

// asked returns "all", or a part of the names of the mutants to try. If it is empty, tests try a sample of each table, since each
// mutant takes seconds to compile.
func asked() string { return os.Getenv("PRIMACY_MUTANTS") }

// Asked says whether a test is to try the named mutant, whatever its sample is.
func Asked(name string) bool {
	return asked() == "all" || asked() != "" && strings.Contains(name, asked())
}

// SampleOnly says whether a test is to try its sample.
func SampleOnly() bool { return asked() == "" }

// NoneHasThatName is what a test says that has no mutant of the name that it is asked for. `make mutants` fails if all tests say so.
const NoneHasThatName = "no mutant of this table has that name"
