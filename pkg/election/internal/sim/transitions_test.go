package sim

// allTransitions are all role changes of machines, with their reasons.
var allTransitions = []string{
	"claiming: lock claimed from a foreign holder",
	"draining: better member is ready",
	"draining: election exchanged",
	"draining: election removed",
	"draining: forced handover",
	"draining: lock lost to another holder",
	"draining: lock object deleted or recreated",
	"draining: lock record corrupt",
	"draining: member is leaving",
	"draining: not renewed in time",
	"draining: another revision is preferred",
	"draining: runners failed",
	"draining: session ended",
	"following: claim left to expire",
	"following: not renewed in time",
	"following: lock no longer held",
	"following: released",
	"leading: lock taken",
}

// rareTransitions and rareFaults may be missing in a few hundred seeds.
var (
	rareTransitions = []string{"following: claim left to expire", "draining: another revision is preferred"}
	rareFaults      = []Fault{LeftBlind, StrayReleased, HeldOn, TakenFromEnded, ForeignStole, OverlapByTheft, BlankedByForeign,
		BuriedOnWord, BuriedHalfDead, BuriedAlive, OverlapByWord}
)
