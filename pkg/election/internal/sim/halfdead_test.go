package sim

import (
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// bent runs a seed in a world that bend has changed, and returns the world.
func bent(seed uint64, o Options, bend func(*world)) *world {
	w := newWorld(seed, o)
	bend(w)
	w.begin()
	w.run()
	return w
}

// TestHalfDeadMembersAreSeen plants parents that call a member dead while its programs go on. The judge of proofs
// objects to that. Without it, the judges of overlaps see what follows, whether records or sessions renew the terms.
func TestHalfDeadMembersAreSeen(t *testing.T) {
	for _, tt := range []struct {
		what, want string
		renewal    record.Renewal
		unseen     bool
	}{
		{"the proof, of records", "rule proof-not-patience: the parent of ", record.RenewalRecord, false},
		{"the proof, of sessions", "rule proof-not-patience: the parent of ", record.RenewalSession, false},
		{"the overlap, of records", "rule living-terms-stay: ", record.RenewalRecord, true},
		{"the overlap, of sessions", "rule living-terms-stay: ", record.RenewalSession, true},
	} {
		t.Run(tt.what, func(t *testing.T) {
			for seed := uint64(1); seed <= 200; seed++ {
				w := bent(seed, Options{Class: Judged}, func(w *world) {
					w.parents.hasty, w.parents.unseen = true, tt.unseen
					w.words = nil
					for e := range w.elections {
						w.kinds[e] = child
						w.onDeath[e], w.relics[e] = machine.OnDeathProof, noRelic
					}
					for _, h := range w.hosts {
						h.guarded, h.accepts = true, nil
						for e := range w.elections {
							if !w.shared(e) {
								h.renewal[e] = tt.renewal
							}
						}
					}
				})
				if w.violation == "" {
					continue
				}
				if !strings.HasPrefix(w.violation, tt.want) {
					t.Fatalf("seed %d: the judge says %q, want %q", seed, w.violation, tt.want)
				}
				t.Logf("seed %d: %s", seed, w.violation)
				return
			}
			t.Error("no judge sees it")
		})
	}
}

// TestAFalseWordIsSeen plants ends of sessions on words that do not count, and one on a word that does.
func TestAFalseWordIsSeen(t *testing.T) {
	for _, tt := range []struct {
		what, want string
		spoil      func(*speaker, *record.Record, *memberFile)
	}{
		{"a word that counts", "", func(*speaker, *record.Record, *memberFile) {}},
		{"of another member", "rule words-need-silence", func(p *speaker, _ *record.Record, _ *memberFile) { p.death.Identity = "h1_00000001" }},
		{"not listed", "rule proof-not-patience", func(p *speaker, _ *record.Record, _ *memberFile) { p.death.Proof = record.ProofKubelet }},
		{"after a beat", "rule words-need-silence", func(p *speaker, _ *record.Record, f *memberFile) { f.beatAt[p.name] = p.saidAt + 1 }},
		{"too early", "rule words-need-silence", func(p *speaker, _ *record.Record, _ *memberFile) { p.begunAt = p.s.w.now - 1 }},
		{"a read had failed", "rule words-need-silence", func(p *speaker, _ *record.Record, _ *memberFile) { p.failedAt = p.s.w.now - 1 }},
	} {
		t.Run(tt.what, func(t *testing.T) {
			w := newWorld(1, Options{Class: Judged})
			w.now = int64(w.timing.LeaseDuration)
			w.hosts[0].accepts = []record.Proof{record.ProofOperator}
			i := &incarnation{p: &proc{h: w.hosts[0], dead: true}, identity: "h0_00000001", timing: w.hosts[0].timing}
			w.judge.joined(i)
			w.judge.members[i.identity].sessionUID = "uid"
			p := &speaker{s: &words{w: w}, name: "s", death: record.Death{Proof: record.ProofOperator, Identity: i.identity}, saidAt: 1, begunAt: 1}
			was := &record.Record{Holder: i.identity}
			tt.spoil(p, was, w.judge.members[i.identity])
			w.judge.spoken(p, p.decides(), was, "uid")
			if got := w.violation; tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
				t.Errorf("the judge says %q, want %q", got, tt.want)
			}
		})
	}
}
