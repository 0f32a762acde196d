// Package primacytest is for tests of programs that use elections: real Managers on a store in memory, in the virtual
// time of testing/synctest, so that a test of minutes takes milliseconds.
//
//	func TestHandover(t *testing.T) {
//		primacytest.Run(t, func(t *testing.T, g *primacytest.Group) {
//			a := g.Join("a", election.Spec{Name: "sync"}, work)
//			b := g.Join("b", election.Spec{Name: "sync"}, work)
//			g.Lead("sync", a) // as an operator would move it, without overlap
//			g.Lead("sync", b)
//			g.Steal("sync")   // a stranger takes the lock: the work of b is told to stop
//		})
//	}
//
// Code behind a gate needs no Manager: see Stage.
//
// Time stands still while anything runs, so a deadline is never missed for want of a processor. What depends on a slow
// machine, a network or the API server is not tested here.
package primacytest
