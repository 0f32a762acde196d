// Package sdk turns a function into a plugin, a program of its own whose work an election
// runs:
//
//	func main() {
//		sdk.Serve(sdk.Plugin{Name: "greeter", Version: "1.0.0", Run: greet})
//	}
//
//	func greet(ctx context.Context, term election.Term, h *sdk.Host) error {
//		h.Log(sdk.Info, "leading "+term.Election)
//		<-ctx.Done()
//		return nil
//	}
package sdk
