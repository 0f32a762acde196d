// Package primacytest is for tests of programs that use elections: real Managers on a store in memory, in the virtual
// time of testing/synctest, so that a test of minutes takes milliseconds.
//
//	func TestHandover(t *testing.T) {
//		var terms atomic.Int32 // runners and the test share it
//		work := election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
//			terms.Add(1)
//			<-ctx.Done()
//			return nil
//		})
//		primacytest.Run(t, func(t *testing.T, g *primacytest.Group) {
//			a := g.Join("a", election.Spec{Name: "sync"}, work)
//			b := g.Join("b", election.Spec{Name: "sync"}, work)
//			g.Lead("sync", a) // as an operator would move it, without overlap
//			g.Lead("sync", b)
//			before := terms.Load()
//			b.Kill()          // a takes over when the session of b has lapsed
//			g.Until(a.Status("sync").IsLeader, "a takes over")
//			if terms.Load() != before+1 {
//				t.Error("a did not work once more")
//			}
//		})
//	}
//
// Variables that runners and the test share need atomics, a lock or a channel. Each runner is a goroutine of its own, and runners of several
// elections work at the same time. What a runner did before a function of this package returned may be read after it, but nothing
// orders what the test writes before what a runner reads. Run such tests with -race.
//
// Code behind a gate needs no Manager: see Stage.
//
// Time stands still while anything runs, so a deadline is never missed for want of a processor. What depends on a slow
// machine, a network or the API server is not tested here.
package primacytest
