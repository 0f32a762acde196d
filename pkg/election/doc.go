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
//	must(m.Run(context.Background())) // returns when every runner has stopped and every lock is released
//
// A Manager hosts a member (pkg/election/internal/member), which drives the pure machines of all elections: the
// Manager has the clock, the connections and the goroutines, and decides nothing.
//
// # Goroutines
//
// Run owns everything: one goroutine steps the member, one reads each watch, one the preferred
// revision; a bounded number make requests; and each term that has a runner has one goroutine for it.
// All of them have ended when Run returns. Following an election costs no goroutine. The methods of
// Manager and Status may be called from any goroutine.
//
// # Loss of control
//
// A runner that has not returned when its time to stop is over, and a host that was held up past a
// deadline, end the process through Config.Abort: work that cannot be stopped must not outlive the
// lock. A process whose work is all done by others (Contained), and had ended in time, goes on.
package election
