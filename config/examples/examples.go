// Package examples holds configurations to learn from, as files and inside the program.
package examples

import _ "embed"

// Dev is dev.yaml, which `primacy dev` runs by default. Its exec runners start the program
// `primacy`, which must be in PATH.
//
//go:embed dev.yaml
var Dev []byte

// Start is start.yaml, which `primacy generate config` prints.
//
//go:embed start.yaml
var Start []byte
