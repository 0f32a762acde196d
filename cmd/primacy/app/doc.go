// Package app is the program primacy, for whoever builds it with runners of their own:
//
//	func main() {
//		app.Main(app.Func("example.greet", greet))
//	}
//
// is the whole program, all commands included, with one more function that elections can
// run (docs/examples/own-binary).
//
// Each command has a file of its own, which wires packages together and decides nothing.
package app
