// Package examples holds configurations to learn from, as files and inside the program.
package examples

import _ "embed"

// Dev is what `primacy dev` runs when it is given no configuration: dev.yaml. Its runners
// are the program `primacy` itself, which must be found in PATH.
//
//go:embed dev.yaml
var Dev []byte
