package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// drift bounds the clock rates in every run: ten times the drift of the product's profiles, so that code
// which ignores drift fails.
const drift = 0.02

const group = "g"

// world is one run. Time is simulated real time in nanoseconds since the beginning.
type world struct {
	seed    uint64
	options Options
	rng     *rand.Rand
	now     int64
	steps   int
	queue   queue
	// burstiness decides which processes take in their input in bursts.
	burstiness burstiness

	timing record.Timing
	// mixed: some members have the shorter timings, as during a change of configuration.
	mixed   bool
	shorter record.Timing
	// takes is the probability that a member takes part in an election. varied: members also differ in
	// their policies and delays.
	takes     float64
	varied    bool
	timeout   time.Duration // of a request
	policy    priority.Policy
	elections []string
	kinds     []workKind          // of each election's work
	bootstrap []machine.Bootstrap // of each election
	preferred []record.Preferred  // of each election, as its source says
	unsynced  []record.Preferred  // of each election, before a source has said anything
	hosts     []*host
	// electors are the foreign electors. foreign says of each election who shares it, and foreignLease which
	// duration the foreign electors of an election write.
	electors []*elector
	// locks are those of each election. apart has the names of the locks that are not stored with the sessions. apartWhole: those are
	// watched all together, else by name.
	locks        []locks
	apart        map[string]bool
	apartWhole   bool
	foreign      []machine.Foreigners
	foreignLease []time.Duration
	store        store

	// noise is the probability that a request is lost, slow, late or refused, outside of any fault.
	noise float64
	// victim and focus are the host and election that the present misfortune strikes.
	victim *host
	focus  int
	// stormy: a storm of a stranger's edits lasts to the end of the run (labelStorm).
	stormy bool
	// ambushed says for which elections an ambush waits for the next release or take.
	ambushed []bool
	// robber draws what ambushes do in the class PutBack.
	robber *rand.Rand
	// denying draws which names the store denies to watches.
	denying *rand.Rand
	// calmAt is when faults end, endAt when the run ends.
	calmAt, endAt int64
	calm          bool

	// outages says of each election whether its terms outlast an outage.
	outages  []machine.Outage
	silences []silence
	parents  parents
	// words is nil if nobody speaks in this run.
	words *words
	// onDeath says of each election what a proof means for it, and relics what another elector left in its lock.
	onDeath []machine.OnDeath
	relics  []relic
	// relicUIDs are the uids of the objects that have them.
	relicUIDs map[string]string
	// meddler edits sessions; it is nil in most runs.
	meddler *meddler
	// forcing are operators who force handovers; nil in most runs.
	forcing *forcing
	// denials are the rights that members lack; nil in most runs.
	denials *denials
	// operators pin, drain and pause; nil in most runs.
	operators *operators
	// late is the plan for elections whose configuration comes late; nil in most runs.
	late *late
	// changes is the plan of changed settings; nil except in the class Settings.
	changes *changes
	// steering holds the plan of a rollout; it is nil except in the class Rollouts.
	steering *steering

	judge      *judge
	cov        Coverage
	transcript *transcript
	violation  string
}

func newWorld(seed uint64, o Options) *world {
	w := &world{
		seed:       seed,
		options:    o,
		rng:        rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		burstiness: pickBurstiness(seed),
		transcript: newTranscript(o.Transcript),
	}
	w.timing, w.shorter = w.pickTiming()
	w.mixed = w.timing.LeaseDuration != w.shorter.LeaseDuration && w.chance(0.2)
	w.timeout = member.WriteTimeout(w.timing)
	w.policy = priority.RevisionLocation{}
	if w.chance(0.15) {
		w.policy = priority.None{}
	}
	w.noise = []float64{0, 0.01, 0.05, 0.15}[w.rng.IntN(4)]
	elections := 1 + w.rng.IntN(3)
	if o.Class == Rollouts {
		elections += 3
	}
	for e := range elections {
		w.elections = append(w.elections, fmt.Sprintf("e%d", e))
		w.kinds = append(w.kinds, workKind(1+w.rng.IntN(2)))
		w.preferred = append(w.preferred, w.pickPreference())
		w.unsynced = append(w.unsynced, record.Preferred{State: record.PreferredNotSynced})
		b := machine.BootstrapWait
		if w.chance(0.1) {
			b = machine.BootstrapImmediate // then nobody deletes it
		}
		w.bootstrap = append(w.bootstrap, b)
	}
	w.store.wholeSeconds = map[string]bool{}
	w.share(rand.New(rand.NewPCG(seed, 0xd1b54a32d192ed03)))
	w.changes = w.pickChanges(rand.New(rand.NewPCG(seed, 0x165667b19e3779f9)))
	vary := rand.New(rand.NewPCG(seed, 0xaf251af3b0f025b5))
	w.takes, w.varied = 0.9, vary.IntN(6) == 0
	if w.varied {
		w.takes = 0.6
	}
	lease := int64(w.timing.LeaseDuration)
	w.calmAt = 8*lease + w.rng.Int64N(16*lease)
	w.ambushed = make([]bool, len(w.elections))
	w.robber = rand.New(rand.NewPCG(seed, 0x2127599bf4325c37))
	w.denying = rand.New(rand.NewPCG(seed, 0x94d049bb133111eb))
	w.judge = newJudge(w)
	w.store.stamp, w.store.changed = w.wall, w.changed
	for n := range 2 + w.rng.IntN(3) {
		w.hosts = append(w.hosts, newHost(w, n))
	}
	if w.varied {
		for _, h := range w.hosts {
			h.vary(vary)
		}
	}
	w.pickRenewals(rand.New(rand.NewPCG(seed, 0x8bb84b93962eacc9)))
	w.pickLocks(rand.New(rand.NewPCG(seed, 0xa0761d6478bd642f)))
	w.pickOutages(rand.New(rand.NewPCG(seed, 0x9fb21c651e98df25)))
	w.pickDeaths(rand.New(rand.NewPCG(seed, 0x6c62272e07bb0142)))
	w.pickPace(rand.New(rand.NewPCG(seed, 0x589965cc75374cc3)))
	w.pickParents(rand.New(rand.NewPCG(seed, 0x2545f4914f6cdd1d)))
	w.pickLate(rand.New(rand.NewPCG(seed, 0x94d049bb133111eb)))
	w.pickWords(rand.New(rand.NewPCG(seed, 0x27d4eb2f165667c5)))
	w.meddler = w.pickMeddler(rand.New(rand.NewPCG(seed, 0xe7037ed1a0b428db)))
	w.forcing = w.pickForcing(rand.New(rand.NewPCG(seed, 0x8ebc6af09c88c6e3)))
	w.operators = w.pickOperators(rand.New(rand.NewPCG(seed, 0x9e6c63d0676a9a99)))
	w.denials = w.pickDenials(rand.New(rand.NewPCG(seed, 0x4e6226981000879)))
	w.endAt = w.calmAt + int64(w.livenessBound()) + int64(w.preferenceBound())
	if o.Class == Rollouts {
		w.endAt += w.rolloutBound()
		w.steer(rand.New(rand.NewPCG(seed, 0xc2b2ae3d27d4eb4f)))
	}
	for _, e := range w.electors {
		// An elector's clock runs true. Ours drift: our members lead for less than their duration and wait for
		// longer, so all difference is on our side.
		e.clock, e.link = clock{offset: w.pickClock().offset}, w.pickLink()
	}
	return w
}

// pickTiming picks a profile, and a shorter one. The tightest profile is not one of the product's: it packs
// more moves into the same number of steps.
func (w *world) pickTiming() (t, shorter record.Timing) {
	tight := record.Timing{
		LeaseDuration: 3 * time.Second, RenewInterval: 600 * time.Millisecond, StopGrace: 800 * time.Millisecond,
		NominateDelay: 500 * time.Millisecond, PreemptDelay: 200 * time.Millisecond, MinHold: time.Second, StandDown: 4 * time.Second,
	}
	switch p := w.rng.Float64(); {
	case p < 0.5:
		t, shorter = mustProfile("fast"), tight
	case p < 0.75:
		t, shorter = mustProfile(record.DefaultProfile), mustProfile("fast")
	default:
		t, shorter = tight, tight
	}
	t.Drift, shorter.Drift = drift, drift
	return t, shorter
}

func mustProfile(name string) record.Timing {
	t, err := record.Profile(name)
	if err != nil {
		panic("sim: " + err.Error())
	}
	return t
}

var revisions = []string{"blue", "green"}

func (w *world) pickPreference() record.Preferred {
	return record.Prefer([]string{"", revisions[0], revisions[1]}[w.rng.IntN(3)])
}

func (w *world) begin() {
	w.logf("world", "seed %d (%v): %d members, elections %v, lease %v, policy %v", w.seed, w.options.Class, len(w.hosts), w.elections, w.timing.LeaseDuration, w.policy)
	for _, h := range w.hosts {
		w.logf(h.name, "%s, clock %+d ppm, takes part in %v", record.NewKey(h.revision, h.location), h.clock.ppm, h.takesPart)
		w.after(w.upTo(2*time.Second), h.boot)
	}
	for _, e := range w.electors {
		w.logf(e.name, "elector of %s: key %q, lease %v, clock %+d ppm", w.elections[e.election], e.key, e.lease, e.clock.ppm)
		w.after(w.upTo(2*time.Second), e.boot)
	}
	w.leaveRelics()
	w.planFaults()
	w.at(w.calmAt, w.becalm)
	w.words.begin()
	w.forcing.begin()
	w.denials.begin()
	w.operators.begin()
	if w.meddler != nil {
		w.meddler.begin()
	}
	w.beginLate()
	w.changes.begin()
}

func (w *world) run() {
	for w.violation == "" {
		at, do, ok := w.queue.pop()
		if !ok || at > w.endAt {
			if w.steering != nil {
				w.steering.settled()
			}
			return
		}
		w.now = at
		w.steps++
		do()
	}
}

// at schedules do for time t, or for now if t has passed.
func (w *world) at(t int64, do func()) { w.queue.push(max(t, w.now), do) }

func (w *world) after(d time.Duration, do func()) { w.at(w.now+int64(d), do) }

// every does do now, and again after each d.
func (w *world) every(d time.Duration, do func()) {
	var again func()
	again = func() {
		do()
		w.after(d, again)
	}
	again()
}

// upTo is a random time in [0, d).
func (w *world) upTo(d time.Duration) time.Duration { return upTo(w.rng, d) }

// upTo is a random time in [0, d), drawn from rng.
func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(rng.Int64N(int64(d)))
}

// between is a random time in [a, b).
func (w *world) between(a, b time.Duration) time.Duration { return a + w.upTo(b-a) }

func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

func (w *world) wall() time.Time {
	return time.Unix(1_800_000_000, 0).UTC().Add(time.Duration(w.now).Truncate(time.Microsecond))
}

func (w *world) violate(judge, format string, args ...any) {
	if w.violation == "" {
		w.violation = judge + ": " + fmt.Sprintf(format, args...)
		w.logf("JUDGE", "%s", w.violation)
	}
}

// clock is the CLOCK_BOOTTIME of one host.
type clock struct{ offset, ppm int64 }

func (w *world) pickClock() clock {
	const most = drift*1e6 - 1
	c := clock{offset: int64(w.between(time.Second, time.Hour))}
	switch w.rng.IntN(4) {
	case 0:
		c.ppm = most
	case 1:
		c.ppm = -most
	default:
		c.ppm = w.rng.Int64N(2*most+1) - most
	}
	return c
}

// local is what the clock shows at time t.
func (c clock) local(t int64) record.Instant {
	return record.Instant(c.offset + t + t*c.ppm/1e6)
}

// when is the first time at which the clock shows i.
func (c clock) when(i record.Instant) int64 {
	elapsed := min(int64(i)-c.offset, int64(2*time.Hour)) // beyond every run, short of an overflow
	t := max(0, elapsed*1e6/(1e6+c.ppm)-2)
	if elapsed == int64(2*time.Hour) {
		return t
	}
	for c.local(t) < i {
		t++
	}
	return t
}
