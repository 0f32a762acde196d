// Package election runs many named leader elections in one process.
//
//	client, err := lease.NewClient(kubeconfig())
//	must(err)
//	m, err := election.NewManager(election.Config{
//		Group: "edge", Member: election.Member{Revision: "1-9-0"}, Locks: lease.In(client, "edge-system"),
//	})
//	must(err)
//	_, err = m.Add(election.Spec{Name: "ingress-status"}, election.RunnerFunc(syncIngress))
//	must(err)
//	must(m.Run(context.Background())) // until its context ends; then every runner has stopped, and every lock is released
//
// A Manager hosts a member (pkg/election/internal/member), which drives the pure machines of all elections: the
// Manager has the clock, the connections and the goroutines, and decides nothing.
//
// # Goroutines
//
// Run owns all goroutines: one steps the member, one reads each watch, one reads the preferred revision;
// a bounded number make requests; and each term with a runner has one. Each disabled election has one more, and so
// has each Background and each Readiness of a runner. All of them have ended when Run returns, but for a call of Config.Announce,
// of Config.Preferences or of a runner's Readiness, and a last line of the log, that hang. Following an election costs no goroutine, unless its runner has Background or Readiness. The methods of Manager
// and Status may be called from any goroutine.
//
// # Loss of control
//
// The Manager ends the process through Config.Abort if a runner has not returned when its time to stop
// is over, or if the host was held up past a deadline: work that cannot be stopped must not outlive the
// lock. The process goes on if other processes did all of its work (Contained) and ended in time.
package election
