package codec_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

var update = flag.Bool("update", false, "write testdata anew")

var moment = time.Date(2026, 11, 20, 8, 58, 30, 123456000, time.UTC)

func heldLock() record.Record {
	return record.Record{
		Holder: "edge-0_0a1b2c3d", Duration: 15 * time.Second,
		Acquired: moment.Add(-time.Hour), Renewed: moment, Transitions: 7,
		Mark: &record.Mark{
			Identity: "edge-0_0a1b2c3d", Transitions: 7, Key: "^1-9-0", Weight: 100,
			Session: "primacy-edge-edge-0-0", SessionUID: "9f3c0c1e-8a53-4f4e-9d0e-2f8f5a1c7b60", Beat: 12,
			Duration: 15 * time.Second, Renewal: record.RenewalRecord,
		},
		Token: 48211, HandoverTo: "edge-1_4e5f6a7b",
		History: []record.Entry{
			{When: moment.Add(-time.Hour).Truncate(time.Second), Who: "edge-1_4e5f6a7b", Why: "took over from edge-2 <expired> & \"gone\""},
			{When: moment.Truncate(time.Second), Who: "edge-0_0a1b2c3d", Why: "handed over"},
		},
		Group: "edge", Election: "ingress-status",
	}
}

// claimingLock is a lock that we took from a foreign holder that may still be at work.
func claimingLock() record.Record {
	r := heldLock()
	r.HolderKey, r.HandoverTo, r.History = "^1-9-0", "", nil
	r.Claim = &record.Claim{Identity: "istiod-7b <old> & \"gone\"", Transitions: 6, Duration: 30 * time.Second}
	return r
}

func releasedLock() record.Record {
	r := heldLock()
	r.Holder, r.Duration, r.Mark = "", time.Second, &record.Mark{Transitions: 7, Beat: 13}
	return r
}

func memberSession() record.Record {
	return record.Record{
		Holder: "edge-0_0a1b2c3d", Duration: 15 * time.Second, Acquired: moment, Renewed: moment,
		Mark: &record.Mark{Identity: "edge-0_0a1b2c3d", Beat: 4, Duration: 15 * time.Second, Renewal: record.RenewalSession},
		Member: &record.Member{
			Identity: "edge-0_0a1b2c3d", Revision: "1-9-0", Location: record.Remote, Weight: 100, Ready: true,
			Preference: "5f1c", Config: "77aa", Fallen: 1, Standing: []string{"billing"},
			Predecessors: []record.Predecessor{{Config: "77ab", Timings: "30c1", LongestLease: 60, SessionLease: 15, DriftPPM: 5000, For: 42}},
			Open:         []string{"dns-sync"},
			Lacks:        []record.Lack{{Election: "billing", Why: "runner writer: no key for <billing> & co"}},
			Lags:         "configuration refused: elections[0].name: must be set",
			Setup:        record.Setup{Protocol: 1}, Disowned: []record.Disowned{{Lock: "8f14e45f-ceea-467f-9575-1c4a5f3b2d10", Beat: 41}},
		},
		Group: "edge",
	}
}

// buriedSession was ended by a proof that its member is dead.
func buriedSession() record.Record {
	r := memberSession()
	r.Holder, r.Duration, r.Mark = "", time.Second, &record.Mark{Beat: 5, Duration: 15 * time.Second, Renewal: record.RenewalRecord}
	r.Member.Proofs = []record.Proof{record.ProofParent}
	r.Member.Deaths = []record.Death{{
		Proof: record.ProofParent, Identity: "edge-0_0a1b2c3d", UID: "9f3c0c1e-8a53-4f4e-9d0e-2f8f5a1c7b60", Beat: 4,
		By: "parent of edge-0_0a1b2c3d", How: "signal: killed", At: moment,
	}}
	return r
}

// spokenForSession was ended on the word of an operator.
func spokenForSession() record.Record {
	r := buriedSession()
	m := *r.Member
	m.Proofs, m.RenewInterval, m.Deaths = []record.Proof{record.ProofParent, record.ProofOperator}, 3*time.Second, slices.Clone(m.Deaths)
	m.Deaths[0].Proof, m.Deaths[0].By, m.Deaths[0].How = record.ProofOperator, "operator alice", "an operator said so, and was silent for 6.1s"
	m.Container = record.Container{Namespace: "edge-system", Pod: "edge-0", PodUID: "1f0b", Name: "primacy", ID: "containerd://5e88", Node: "n1", NodeUID: "2e9c", BootID: "7a0e35f0"}
	r.Member = &m
	return r
}

// TestGolden checks that the stored format does not change by accident.
func TestGolden(t *testing.T) {
	for name, r := range map[string]record.Record{
		"held":     heldLock(),
		"claiming": claimingLock(),
		"released": releasedLock(),
		"session":  memberSession(),
		"buried":   buriedSession(),
		"spoken":   spokenForSession(),
		"empty":    {Group: "edge", Election: "ingress-status"},
		"bare":     {},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := codec.Encode(r, moment)
			if err != nil {
				t.Fatal(err)
			}
			got := []byte(text(o))
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("encoded as\n%s, want\n%s", got, want)
			}
		})
	}
}

// text shows an object, byte for byte.
func text(o codec.Object) string {
	f := o.Fields
	s := fmt.Sprintf("holder: %s\nduration: %d\nacquired: %s\nrenewed: %s\ntransitions: %d\n", f.Holder, f.DurationSeconds,
		f.Acquired.Format(time.RFC3339Nano), f.Renewed.Format(time.RFC3339Nano), f.Transitions)
	if f.HolderKey != "" {
		s += fmt.Sprintf("holder key: %s\n", f.HolderKey)
	}
	for _, k := range slices.Sorted(maps.Keys(o.Annotations)) {
		s += fmt.Sprintf("annotation %s: %s\n", k, o.Annotations[k])
	}
	for _, k := range slices.Sorted(maps.Keys(o.Labels)) {
		s += fmt.Sprintf("label %s: %s\n", k, o.Labels[k])
	}
	return s
}

// TestTolerate checks that Decode skips what a later version adds, and reads what other programs write.
func TestTolerate(t *testing.T) {
	for what, c := range map[string]struct {
		object codec.Object
		check  func(*record.Record) bool
	}{
		"unknown fields": {
			codec.Object{Fields: codec.Fields{Holder: "a"}, Annotations: map[string]string{
				codec.HolderAnnotation:  `{"shiny":{"new":[1]},"identity":"a","transitions":0,"durationSeconds":15}`,
				codec.HistoryAnnotation: `[{"when":"2026-11-20T09:58:30+01:00","who":"a","where":"here"}]`,
			}},
			func(r *record.Record) bool {
				return r.Bound() && r.History[0].When.Equal(moment.Truncate(time.Second)) && r.Mark.Duration == 15*time.Second
			},
		},
		"deaths that are none": {
			codec.Object{Annotations: map[string]string{
				codec.BeatAnnotation: "5", codec.MemberAnnotation: `{"identity":"a"}`,
				codec.HolderAnnotation: `{"identity":"","transitions":0,"deaths":[{"proof":"a later kind","identity":"a","at":"2026-11-20T08:58:30Z"},` +
					`{"proof":"parent","identity":"","at":"2026-11-20T08:58:30Z"},{"proof":"parent","identity":"a","at":"yesterday"},` +
					`{"proof":"parent","identity":"a","at":"2026-11-20T08:58:30Z"}]}`,
			}},
			func(r *record.Record) bool {
				return r.Released() && len(r.Member.Deaths) == 1 && r.Member.Deaths[0].At.Equal(moment.Truncate(time.Second))
			},
		},
		"long history": {
			codec.Object{Annotations: map[string]string{codec.HistoryAnnotation: "[" + strings.Repeat(`{"when":"2026-11-20T08:58:30Z","why":"`+strings.Repeat("é", 300)+`"},`, 19) + `{"when":"2026-11-20T08:58:30Z","who":"last"}]`}},
			func(r *record.Record) bool {
				return len(r.History) == record.HistoryLength && r.History[7].Who == "last" && len(r.History[0].Why) == codec.MaxWhy
			},
		},
		"a foreign holder": {
			codec.Object{Fields: codec.Fields{Holder: strings.Repeat("f", 1000), DurationSeconds: 15, Transitions: 3, Renewed: moment}},
			func(r *record.Record) bool {
				return len(r.Holder) == 1000 && r.Duration == 15*time.Second && r.Transitions == 3 && !r.Bound()
			},
		},
		"nothing": {codec.Object{}, func(r *record.Record) bool { return r.Untouched() && r.Rest == nil }},
	} {
		t.Run(what, func(t *testing.T) {
			var d codec.Decoder
			r := d.Decode(c.object)
			if r.Unreadable != "" || !c.check(r) {
				t.Errorf("read as %+v, %+v", r, r.Mark)
			}
		})
	}
}

// TestUnreadable checks that Decode reads the readable parts of an unreadable object.
func TestUnreadable(t *testing.T) {
	good, err := codec.Encode(heldLock(), moment)
	if err != nil {
		t.Fatal(err)
	}
	for want, edit := range map[string]func(*codec.Object){
		`primacy.dev/holder: broken JSON`:                                         annotate(codec.HolderAnnotation, `{`),
		`primacy.dev/holder: JSON of the wrong type`:                              annotate(codec.HolderAnnotation, `[]`),
		`primacy.dev/holder: JSON field "beat" has the wrong type`:                annotate(codec.HolderAnnotation, `{"beat":-1}`),
		`primacy.dev/holder: no identity`:                                         annotate(codec.HolderAnnotation, `{"transitions":7}`),
		`primacy.dev/holder: no transitions`:                                      annotate(codec.HolderAnnotation, `{"identity":""}`),
		`primacy.dev/holder: transitions: -1 is not from 0 to 1073741824`:         annotate(codec.HolderAnnotation, `{"identity":"","transitions":-1}`),
		`primacy.dev/holder: duration: 0 s is not from 1s to 8784h0m0s`:           annotate(codec.HolderAnnotation, `{"identity":"a","transitions":1}`),
		`primacy.dev/holder: renewal: unknown renewal "never"`:                    annotate(codec.HolderAnnotation, `{"identity":"","transitions":1,"renewal":"never"}`),
		`primacy.dev/holder: is not valid UTF-8`:                                  annotate(codec.HolderAnnotation, "{\"identity\":\"a\xff\"}"),
		`primacy.dev/token: "1e3" is no number`:                                   annotate(codec.TokenAnnotation, "1e3"),
		`primacy.dev/token: 4611686018427387905 is more than 4611686018427387904`: annotate(codec.TokenAnnotation, "4611686018427387905"),
		`primacy.dev/claim: broken JSON`:                                          annotate(codec.ClaimAnnotation, ``),
		`primacy.dev/claim: JSON of the wrong type`:                               annotate(codec.ClaimAnnotation, `"istiod"`),
		`primacy.dev/claim: JSON field "identity" has the wrong type`:             annotate(codec.ClaimAnnotation, `{"identity":{}}`),
		`primacy.dev/claim: no identity`:                                          annotate(codec.ClaimAnnotation, `{"identity":"","transitions":6,"durationSeconds":30}`),
		`primacy.dev/claim: no transitions`:                                       annotate(codec.ClaimAnnotation, `{"identity":"b","durationSeconds":30}`),
		`primacy.dev/claim: transitions: -1 is not from 0 to 1073741824`:          annotate(codec.ClaimAnnotation, `{"identity":"b","transitions":-1,"durationSeconds":30}`),
		`primacy.dev/claim: duration: 0 s is not from 1s to 8784h0m0s`:            annotate(codec.ClaimAnnotation, `{"identity":"b","transitions":6}`),
		`primacy.dev/claim: duration: -30 s is not from 1s to 8784h0m0s`:          annotate(codec.ClaimAnnotation, `{"identity":"b","transitions":6,"durationSeconds":-30}`),
		`primacy.dev/claim: is not valid UTF-8`:                                   annotate(codec.ClaimAnnotation, "{\"identity\":\"\xff\"}"),
		`primacy.dev/claim: identity: 5000 bytes are more than 4096`:              annotate(codec.ClaimAnnotation, `{"identity":"`+strings.Repeat("b", 5000)+`","transitions":6,"durationSeconds":30}`),
		`holder key: "\xff" is not valid UTF-8`:                                   func(o *codec.Object) { o.Fields.HolderKey = "\xff" },
		`holder key: 5000 bytes are more than 4096`:                               func(o *codec.Object) { o.Fields.HolderKey = strings.Repeat("k", 5000) },
		`primacy.dev/history: when: "x\n" is no time`:                             annotate(codec.HistoryAnnotation, `[{"when":"x\n"}]`),
		`primacy.dev/handover-to: "\xff" is not valid UTF-8`:                      annotate(codec.HandoverAnnotation, "\xff"),
		`primacy.dev/member: no identity`:                                         annotate(codec.MemberAnnotation, `{}`),
		`primacy.dev/member: location: unknown location "moon"`:                   annotate(codec.MemberAnnotation, `{"identity":"a","location":"moon"}`),
		`primacy.dev/beat: is there, but primacy.dev/member is missing`:           annotate(codec.BeatAnnotation, `1`),
		`primacy.dev/beat: is missing`:                                            annotate(codec.MemberAnnotation, `{"identity":"a"}`),
		`primacy.dev/beat: is there, but primacy.dev/holder is missing`: func(o *codec.Object) {
			delete(o.Annotations, codec.HolderAnnotation)
			o.Annotations[codec.MemberAnnotation], o.Annotations[codec.BeatAnnotation] = `{"identity":"a"}`, "1"
		},
		`primacy.dev/election: "two words" is not a valid label value: it needs letters and digits, with '-', '_' and '.' only between them`: func(o *codec.Object) {
			o.Labels = map[string]string{lock.ElectionLabel: "two words", lock.GroupLabel: "edge"}
		},
		`duration: -1 s is not from 1s to 8784h0m0s`:          func(o *codec.Object) { o.Fields.DurationSeconds = -1 },
		`transitions: 2147483647 is not from 0 to 1073741824`: func(o *codec.Object) { o.Fields.Transitions = 1<<31 - 1 },
		`holder: 1048576 bytes are more than 4096`:            func(o *codec.Object) { o.Fields.Holder = strings.Repeat("x", 1<<20) },
		`renew time: year 9999 is not from 1970 to 9998`:      func(o *codec.Object) { o.Fields.Renewed = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
		`acquire time: year 1 is not from 1970 to 9998`:       func(o *codec.Object) { o.Fields.Acquired = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC) },
		`fields: broken leader annotation`:                    func(o *codec.Object) { o.Fields.Problem = "broken leader annotation" },
	} {
		t.Run(want, func(t *testing.T) {
			o := good
			o.Annotations = map[string]string{}
			for k, v := range good.Annotations {
				o.Annotations[k] = v
			}
			edit(&o)
			var d codec.Decoder
			r := d.Decode(o)
			if r.Unreadable != want {
				t.Errorf("unreadable for %q, want %q", r.Unreadable, want)
			}
			if r.Bound() || r.Group != "edge" || (!strings.HasPrefix(want, "holder:") && r.Holder != "edge-0_0a1b2c3d") {
				t.Errorf("read as %+v", r)
			}
			if strings.HasPrefix(want, lock.ElectionLabel) && r.Election != "" {
				t.Errorf("the election is read as %q", r.Election)
			}
			if len(r.Holder) > 4096 {
				t.Errorf("keeps %d bytes of an identity", len(r.Holder))
			}
			if !strings.HasPrefix(want, "primacy.dev/token") && r.Token != 48211 {
				t.Errorf("the token is read as %d", r.Token)
			}
		})
	}
}

func annotate(key, value string) func(*codec.Object) {
	return func(o *codec.Object) { o.Annotations[key] = value }
}

// TestCut checks that Encode truncates times and reasons as Decode does.
func TestCut(t *testing.T) {
	r := heldLock()
	r.Renewed = moment.Add(789 * time.Nanosecond).In(time.FixedZone("", 3600))
	r.History = nil
	for i := range 20 {
		r.History = append(r.History, record.Entry{When: moment.Add(time.Duration(i) * time.Minute)})
	}
	o, err := codec.Encode(r, moment)
	if err != nil {
		t.Fatal(err)
	}
	if o.Fields.Renewed != moment {
		t.Errorf("renewed at %v", o.Fields.Renewed)
	}
	if h := o.Annotations[codec.HistoryAnnotation]; strings.Count(h, "when") != record.HistoryLength || !strings.HasSuffix(h, `[{"when":"2026-11-20T09:17:30Z"}]`[1:]) {
		t.Errorf("history is written as %s", h)
	}
}

// TestLongNameOfANextHolder checks that a name that no member can have names nobody, so that a holder can renew the record.
func TestLongNameOfANextHolder(t *testing.T) {
	for length, want := range map[int]bool{codec.MaxIdentity: true, codec.MaxIdentity + 1: false, 5000: false} {
		var d codec.Decoder
		r := d.Decode(codec.Object{Annotations: map[string]string{codec.HandoverAnnotation: strings.Repeat("n", length)}})
		if r.Unreadable != "" || (r.HandoverTo != "") != want {
			t.Errorf("%d bytes are read as %q, %s", length, r.HandoverTo, r.Unreadable)
		}
		if _, err := codec.Encode(record.Record{Holder: "a", Duration: time.Second, Acquired: moment, Renewed: moment, HandoverTo: r.HandoverTo}, moment); err != nil {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

// TestLongReason checks that Encode cuts a reason that is too long between characters.
func TestLongReason(t *testing.T) {
	r := heldLock()
	r.History = []record.Entry{{When: moment, Why: "x" + strings.Repeat("é", 300)}}
	o, err := codec.Encode(r, moment)
	if err != nil {
		t.Fatal(err)
	}
	var d codec.Decoder
	if got := d.Decode(o).History[0].Why; got != "x"+strings.Repeat("é", 99) {
		t.Errorf("kept %q", got)
	}
}

// TestTotalSize checks that annotations of others give way, the largest first, where all together would be too long.
func TestTotalSize(t *testing.T) {
	var d codec.Decoder
	r := *d.Decode(codec.Object{Annotations: map[string]string{
		"example.com/huge": strings.Repeat("x", codec.MaxAnnotations-500), "example.com/small": strings.Repeat("y", 50),
	}})
	rest := r.Rest
	r = record.Record{Rest: rest}
	if o, err := codec.Encode(r, moment); err != nil || len(o.Annotations) != 2 {
		t.Errorf("what was read cannot be written: %d annotations, %v", len(o.Annotations), err)
	}
	r = heldLock()
	r.Rest = rest
	o, err := codec.Encode(r, moment)
	if err != nil {
		t.Fatal(err)
	}
	if _, huge := o.Annotations["example.com/huge"]; huge || o.Annotations["example.com/small"] == "" {
		t.Errorf("of the annotations of others it keeps the huge one: %v", huge)
	}
	if again, err := codec.Encode(record.Record{Rest: rest}, moment); err != nil || len(again.Annotations) != 2 {
		t.Errorf("the rest has changed: %d annotations, %v", len(again.Annotations), err)
	}
}

// TestRestIsOwn checks that a record stays the same if somebody writes to the object from which Decode made
// it, or to the object that Encode made of it.
func TestRestIsOwn(t *testing.T) {
	var d codec.Decoder
	o := codec.Object{Annotations: map[string]string{"a": "1"}, Labels: map[string]string{"b": "2"}}
	r := d.Decode(o)
	o.Annotations["a"], o.Labels["b"] = "changed", "changed"
	for range 2 {
		got, err := codec.Encode(*r, moment)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Annotations, map[string]string{"a": "1"}) || !reflect.DeepEqual(got.Labels, map[string]string{"b": "2"}) {
			t.Errorf("got %v %v", got.Annotations, got.Labels)
		}
		got.Annotations["a"], got.Labels["b"] = "changed", "changed"
	}
}

// TestClaim checks that Decode reads a claim whoever holds the lock, and that Encode removes the claim's
// annotation if the record has no claim.
func TestClaim(t *testing.T) {
	o, err := codec.Encode(claimingLock(), moment)
	if err != nil {
		t.Fatal(err)
	}
	var d codec.Decoder
	if r := d.Decode(o); !r.Bound() || !reflect.DeepEqual(r.Claim, claimingLock().Claim) {
		t.Errorf("read as %+v of %+v", r.Claim, r)
	}
	o.Fields.Holder = "istiod-7c"
	r := d.Decode(o)
	if r.Bound() || r.Claim == nil || r.Unreadable != "" {
		t.Errorf("under a stranger, read as %+v of %+v", r.Claim, r)
	}
	o.Fields.Holder = ""
	if r := d.Decode(o); r.Released() {
		t.Errorf("a blanked claim is free: %+v", r)
	}
	r.Claim = nil
	if o, err = codec.Encode(*r, moment); err != nil || o.Annotations[codec.ClaimAnnotation] != "" {
		t.Errorf("a claim that is over leaves %v, %v", o.Annotations, err)
	}
}

// TestClaimLimits checks that a claim may name every identity that Decode returns, and no other.
func TestClaimLimits(t *testing.T) {
	for what, c := range map[string]struct {
		claim record.Claim
		ok    bool
	}{
		"the longest name":    {record.Claim{Identity: strings.Repeat("b", 4096), Duration: time.Second}, true},
		"a longer name":       {record.Claim{Identity: strings.Repeat("b", 4097), Duration: time.Second}, false},
		"no name":             {record.Claim{Duration: time.Second}, false},
		"bad UTF-8":           {record.Claim{Identity: "\xff", Duration: time.Second}, false},
		"no duration":         {record.Claim{Identity: "b"}, false},
		"half a second":       {record.Claim{Identity: "b", Duration: time.Second / 2}, false},
		"less than no change": {record.Claim{Identity: "b", Duration: time.Second, Transitions: -1}, false},
	} {
		r := claimingLock()
		r.Claim = &c.claim
		if _, err := codec.Encode(r, moment); (err == nil) != c.ok || err != nil && !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
