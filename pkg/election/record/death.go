package record

import "time"

// Death says that a member, and all work that it had begun, is dead, and who can tell (rule
// proof-not-patience). It stands in the mark that ends the member's session. Later members of the same slot
// carry it on for a while.
type Death struct {
	Proof Proof
	// Identity is the member's, UID that of its session object.
	Identity, UID string
	// Beat is the last beat of the session, which the end replaced.
	Beat uint64
	// By names who ended the session, and How what became of the member's process, for people.
	By, How string
	// At is when the member was found dead, by the wall clock of its own host.
	At time.Time
}

// Proof is a way to know that a member is dead, other than that its session has lapsed.
type Proof string

// ProofParent: the process that started the member has reaped it and all of its descendants.
const ProofParent Proof = "parent"

// ProofOperator: a person says that the member is dead. It is a word.
const ProofOperator Proof = "operator"

// ProofKubelet: the kubelet of the member's node says that the member's container has ended. It is a word.
const ProofKubelet Proof = "kubelet"

// ProofOutOfService: the taint of that name says that the member's node is switched off. It is a word, of an operator.
const ProofOutOfService Proof = "out-of-service"

// ProofCgroup: the control group that the member had for itself is empty, and the process that held its lock is dead.
const ProofCgroup Proof = "cgroup"

// IsKnown says whether members of this version know what the proof means.
func (p Proof) IsKnown() bool { return p == ProofParent || p == ProofCgroup || p.IsWord() }

// IsWord says whether the proof is somebody's word. The speaker did not see all of the member's work end, so the
// word counts only while the session is silent (rule words-need-silence).
func (p Proof) IsWord() bool {
	return p == ProofOperator || p == ProofKubelet || p == ProofOutOfService
}

// MostDeaths is how many deaths the mark of a session tells of, the latest last.
const MostDeaths = 4

// Container is a member's container, of which the kubelet of its node tells. The zero Container is none.
type Container struct {
	// Namespace, Pod and PodUID are of the Pod, and Name is the container's name in it.
	Namespace, Pod, PodUID, Name string
	// ID is the container's, as the status of the Pod shows it. Each start of the container has another ID.
	ID string
	// Node is the node on which it runs, NodeUID that node's uid, and BootID the boot of the node's kernel.
	Node, NodeUID, BootID string
}
