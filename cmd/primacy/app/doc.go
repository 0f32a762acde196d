// Package app is the program primacy, to build with your own runners:
//
//	func main() {
//		app.Main(app.Func("example.greet", greet))
//	}
//
// is the whole program, all commands included, with one more function that elections can
// run (docs/examples/own-binary).
//
// Each command has a file of its own, which only wires packages together.
package app
