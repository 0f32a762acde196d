// Package view draws what people watch: who leads what, who is a member, what happened
// lately. `primacy status -w`, `primacy rollout status` and `primacy dev` are drawn here.
//
// A Page is what is shown at one moment, and drawing it for a terminal of some size is a
// pure function. A Screen keeps a terminal showing the present page. What others wrote
// must be printable when it comes here; reports of package status are.
//
// A Screen has one goroutine, which calls what its Show has, and is joined by Close.
package view
