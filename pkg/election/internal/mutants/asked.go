package mutants

import (
	"os"
	"strings"
)

// Asked says whether a test is to try the named mutant. The variable PRIMACY_MUTANTS is "all", or a part of the names to try.
// Without it only a sample is tried, since each mutant takes seconds to compile.
func Asked(name string, sampled bool) bool {
	part := os.Getenv("PRIMACY_MUTANTS")
	return part == "" && sampled || part == "all" || part != "" && strings.Contains(name, part)
}
