// Command clientgo026 is package elector as a program. Tests build it with client-go 0.26:
//
//	go build -modfile=pkg/election/interop/clientgo026/clientgo026.mod ./pkg/election/interop/clientgo026
//
// clientgo026.mod replaces the module's own go.mod and lists only what this program needs. From
// client-go 0.27 on a follower waits for the duration that the holder wrote; 0.26 still waits for
// its own duration.
package main

import (
	"fmt"
	"os"

	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
)

func main() {
	if err := elector.Main(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
