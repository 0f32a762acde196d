// Package leaderelection has the shape of client-go's package of that name. A program that uses client-go's elector
// changes one import:
//
//	"github.com/primacy-dev/primacy/pkg/election/leaderelection" // was "k8s.io/client-go/tools/leaderelection"
//
// Everything else stays, the import of client-go's resourcelock and its LeaseLock included. Changed and unchanged
// programs can take part in one election, as docs/interop.md says, so the change is a rolling update, and so is the
// way back.
//
// # What is kept
//
// The types, functions and checks of the configuration; one lock for each elector, in the same Lease; Run returns
// once leadership has ended; a Run that returned may be called again. GetLeader and OnNewLeader give the identities
// that users gave.
//
// # What is better
//
//   - OnStoppedLeading comes only if OnStartedLeading was called, and after that has returned; or just before the process ends
//     because it does not return.
//   - The lock is released after the work has ended, never before. Without ReleaseOnCancel, OnStoppedLeading counts as work; see
//     [LeaderElectionConfig]. client-go's elector does not release then.
//   - A follower watches the Lease, so it takes a released lock at once.
//   - Work that is not dead by the end of the lease ends with its process (exit status 70).
//
// # What is not kept
//
//   - The Lease shows the identity with a suffix, such as web-0_1a2b3c4d: no identity of a process is used twice. Others
//     read the name without suffix from an annotation. An elector of client-go in the group shows the suffix.
//   - The part before the suffix is the identity itself if that is a DNS name of at most 63 characters in lower case, such as a Pod's.
//     Any other, such as hostname + "_" + uuid, is made similar to it: in lower case, with '-' in place of other characters,
//     shortened, and with a hash of the whole identity at the end, so that two that differ stay different. GetLeader,
//     OnNewLeader and the annotation give the identity as the user gave it.
//   - A process that starts again under its old identity waits, as any other. client-go's takes its old lock back at once.
//   - OnStoppedLeading is not called for an elector that never led: Run returns. If the program relies on that callback for its exit, as
//     kube-scheduler does, a standby that is asked to end goes on after Run; kube-scheduler then ends with status 1 in place of 0.
//   - The program must be allowed to list and watch its Lease, besides get, create and update. It never leads otherwise.
//   - The Lock is a *resourcelock.LeaseLock with a client that has a REST connection, so no MultiLock and no fake
//     clientset. Coordinated elections are refused: Coordinated must be false, and NewCandidate returns an error.
//   - A leaseDuration is rounded up to whole seconds. At least a fifth of it is for the work to stop, so renewDeadline
//     counts as at most four fifths.
//   - Slow path metrics are never reported: there is no slow path.
//
// Electors of client-go in the group should have the same three durations, and the same ReleaseOnCancel: a claim waits by
// them (2 x renewDeadline + retryPeriod, and with ReleaseOnCancel another renewDeadline).
//
// # A deleted Lease
//
// A new Lease is taken at once, as by client-go. So if somebody deletes the Lease while its holder works, the next
// holder may start while the old one stops.
//
// # Goroutines
//
// Run owns all goroutines, with two exceptions, which are client-go's, too: a callback OnNewLeader may outlive Run, and
// so may an OnStartedLeading that does not return, until the process ends.
package leaderelection
