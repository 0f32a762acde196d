package devcluster_test

import (
	"fmt"
	"runtime"
	"testing"
)

// fatalTB is a test that reports why it failed instead of failing.
type fatalTB struct {
	testing.TB
	said chan<- string
}

func (f *fatalTB) Helper() {}

func (f *fatalTB) Fatal(args ...any) {
	f.said <- fmt.Sprint(args...)
	runtime.Goexit()
}
