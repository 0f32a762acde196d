// Package runners registers the kinds of work that an election can run, and keeps that
// work running for as long as a term lasts.
//
// A kind is a Decoder, registered under its name:
//
//	reg := runners.NewRegistry()
//	reg.Register("exec", exec.Kind())
//	reg.Register("func", table.Kind())
//
// The configuration keeps each runner's block as a raw YAML node; Registry.Decode turns
// it into a Child, and Supervise turns the children of one election into the one
// election.Runner of its manager.
//
// Goroutines: Supervise starts one for each child and one for each of its runs. All of
// them have ended when the Runner's Run returns; a child must join what its own Run
// starts. A panic in a goroutine that a child started cannot be recovered here.
package runners
