// Package view draws live views for people: who leads what, who is a member, what happened
// lately. `primacy status -w`, `primacy rollout status` and `primacy dev` use it.
//
// A Page is the view at one moment; drawing it for a terminal of some size is a
// pure function. A Screen shows the present page on a terminal. The caller must first make text
// that others wrote printable (see Printable). Reports of package status are printable already.
//
// A Screen has goroutines, one of which calls the functions of its Show. Close joins them.
package view
