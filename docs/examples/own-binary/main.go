// Command own-binary is primacy with one more function that elections can run.
package main

import (
	"context"
	"fmt"

	"github.com/primacy-dev/primacy/cmd/primacy/app"
	"github.com/primacy-dev/primacy/pkg/election"
)

func main() { app.Main(app.Func("example.greet", greet)) }

func greet(ctx context.Context, term election.Term) error {
	fmt.Printf("leading %s with token %d\n", term.Election, term.Token)
	<-ctx.Done() // stop now, and return once everything has stopped
	fmt.Println("stopped leading", term.Election)
	return nil
}
