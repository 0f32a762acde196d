package codec_test

import (
	"errors"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

var (
	words    = rapid.StringN(0, 80, 200)
	label    = rapid.StringMatching(`|[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?`)
	seconds  = rapid.Map(rapid.IntRange(1, 366*24*3600), func(n int) time.Duration { return time.Duration(n) * time.Second })
	instants = rapid.Map(rapid.Int64Range(1, 8029*365*24*3600*1e6), func(us int64) time.Time { return time.UnixMicro(us).UTC() })
	weights  = rapid.IntRange(-1<<30, 1<<30)
)

func marks(t *rapid.T) *record.Mark {
	return &record.Mark{
		Identity:    words.Draw(t, "identity"),
		Transitions: rapid.IntRange(0, 1<<30).Draw(t, "mark transitions"),
		Key:         record.Key(words.Draw(t, "key")),
		Weight:      int32(weights.Draw(t, "weight")),
		Falls:       int16(rapid.IntRange(0, 1<<15-1).Draw(t, "falls")),
		Session:     words.Draw(t, "session"),
		SessionUID:  words.Draw(t, "session uid"),
		Beat:        rapid.Uint64Range(0, 1<<62).Draw(t, "beat"),
		Duration:    min(seconds.Draw(t, "mark duration"), record.MaxLeaseDuration),
		Renewal:     rapid.SampledFrom([]record.Renewal{"", record.RenewalRecord, record.RenewalSession}).Draw(t, "renewal"),
	}
}

func members(t *rapid.T) *record.Member {
	m := &record.Member{
		Identity:   rapid.StringN(1, 80, 200).Draw(t, "member"),
		Revision:   words.Draw(t, "revision"),
		Location:   rapid.SampledFrom([]record.Location{"", record.Local, record.Remote}).Draw(t, "location"),
		Weight:     weights.Draw(t, "weight"),
		Ready:      rapid.Bool().Draw(t, "ready"),
		Preference: words.Draw(t, "preference"),
		Config:     words.Draw(t, "config"),
		Fallen:     rapid.IntRange(0, 1<<30).Draw(t, "fallen"),
	}
	m.Standing = rapid.SliceOfN(words, 1, 5).Draw(t, "standing")
	if rapid.Bool().Draw(t, "in good standing") {
		m.Standing = nil
	}
	if rapid.Bool().Draw(t, "fails open") {
		m.Open = rapid.SliceOfN(words, 1, 5).Draw(t, "open")
	}
	if rapid.Bool().Draw(t, "lacks something") {
		m.Lags = words.Draw(t, "lags")
		m.Lacks = []record.Lack{{Election: words.Draw(t, "election"), Why: words.Draw(t, "why")}}
	}
	if rapid.Bool().Draw(t, "lists proofs") {
		m.Proofs = []record.Proof{record.ProofParent, "one of later versions"}
		m.Container = rapid.Make[record.Container]().Draw(t, "container")
		m.RenewInterval = time.Duration(rapid.Int64Range(0, record.MaxLeaseDuration.Milliseconds()).Draw(t, "renew interval")) * time.Millisecond
	}
	if rapid.Bool().Draw(t, "has predecessors") {
		m.Predecessors = rapid.SliceOfN(predecessors, 1, record.MostPredecessors).Draw(t, "predecessors")
	}
	return m
}

var predecessors = rapid.Custom(func(t *rapid.T) record.Predecessor {
	leases := rapid.IntRange(0, int(record.MaxLeaseDuration/time.Second))
	return record.Predecessor{
		Config:       words.Draw(t, "config"),
		Timings:      words.Draw(t, "timings"),
		LongestLease: leases.Draw(t, "longest lease"),
		SessionLease: leases.Draw(t, "session's lease"),
		DriftPPM:     rapid.IntRange(0, 100_000).Draw(t, "drift"),
		For:          leases.Draw(t, "for"),
	}
})

var deaths = rapid.Custom(func(t *rapid.T) record.Death {
	return record.Death{
		Proof:    record.ProofParent,
		Identity: rapid.StringN(1, 80, 200).Draw(t, "dead"),
		UID:      words.Draw(t, "dead uid"),
		Beat:     rapid.Uint64Range(0, 1<<62).Draw(t, "last beat"),
		By:       words.Draw(t, "by"),
		How:      words.Draw(t, "how"),
		At:       instants.Draw(t, "at"),
	}
})

var entries = rapid.Custom(func(t *rapid.T) record.Entry {
	return record.Entry{
		When: instants.Draw(t, "when").Truncate(time.Second),
		Who:  words.Draw(t, "who"),
		Why:  words.Draw(t, "why"),
	}
})

// records generates records that an object can hold.
var records = rapid.Custom(func(t *rapid.T) record.Record {
	r := record.Record{
		Holder:      words.Draw(t, "holder"),
		Duration:    seconds.Draw(t, "duration"),
		Acquired:    instants.Draw(t, "acquired"),
		Renewed:     instants.Draw(t, "renewed"),
		Transitions: rapid.IntRange(0, 1<<30).Draw(t, "transitions"),
		Token:       record.Token(rapid.Uint64Range(0, 1<<62).Draw(t, "token")),
		HandoverTo:  words.Draw(t, "handover"),
		Group:       label.Draw(t, "group"),
		Election:    label.Draw(t, "election"),
		HolderKey:   record.Key(words.Draw(t, "holder key")),
	}
	if rapid.Bool().Draw(t, "claiming") {
		r.Claim = &record.Claim{
			Identity:    rapid.StringN(1, 200, 4096).Draw(t, "claimed from"),
			Transitions: rapid.IntRange(0, 1<<30).Draw(t, "claimed transitions"),
			Duration:    seconds.Draw(t, "claimed duration"),
		}
	}
	if rapid.Bool().Draw(t, "marked") {
		r.Mark = marks(t)
	}
	if rapid.Bool().Draw(t, "session") {
		r.Member = members(t)
		if r.Mark != nil && rapid.Bool().Draw(t, "after deaths") {
			r.Member.Deaths = rapid.SliceOfN(deaths, 1, record.MostDeaths).Draw(t, "deaths")
		}
	}
	if n := rapid.IntRange(0, record.HistoryLength).Draw(t, "history"); n > 0 {
		r.History = rapid.SliceOfN(entries, n, n).Draw(t, "entries")
	}
	return r
})

var others = rapid.MapOfN(rapid.StringMatching(`(example\.com|primacy\.dev/x|[a-z]+)-[a-z]{1,9}`), words, 0, 4)

// TestRoundTrip checks that a record that Encode accepts reads back the same, including the part that is not
// ours.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d codec.Decoder
		start := codec.Object{Annotations: others.Draw(t, "annotations"), Labels: others.Draw(t, "labels")}
		want := records.Draw(t, "record")
		want.Rest = d.Decode(start).Rest
		o, err := codec.Encode(want, time.Now())
		if err != nil {
			t.Fatalf("encode %+v: %v", want, err)
		}
		got := d.Decode(o)
		if !reflect.DeepEqual(*got, want) {
			t.Fatalf("wrote %+v %+v, read %+v %+v (%s)", want, want.Mark, got, got.Mark, got.Unreadable)
		}
		again, err := codec.Encode(*got, time.Now())
		if err != nil || !reflect.DeepEqual(again, o) {
			t.Fatalf("wrote %+v, then %+v: %v", o, again, err)
		}
		for k, v := range start.Annotations {
			if o.Annotations[k] != v {
				t.Fatalf("annotation %s became %q", k, o.Annotations[k])
			}
		}
		for k, v := range start.Labels {
			if o.Labels[k] != v {
				t.Fatalf("label %s became %q", k, o.Labels[k])
			}
		}
	})
}

// anything generates records, most of which no object can hold.
var anything = rapid.Custom(func(t *rapid.T) record.Record {
	r := records.Draw(t, "record")
	bytes := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
	for _, spoil := range rapid.SliceOfN(rapid.SampledFrom([]func(){
		func() { r.Holder = bytes.Draw(t, "holder") },
		func() { r.HandoverTo = bytes.Draw(t, "handover") },
		func() { r.Group, r.Election = bytes.Draw(t, "group"), bytes.Draw(t, "election") },
		func() { r.Duration = time.Duration(rapid.Int64().Draw(t, "duration")) },
		func() { r.Acquired = time.Unix(rapid.Int64().Draw(t, "acquired"), 0) },
		func() { r.Renewed = time.Unix(rapid.Int64().Draw(t, "renewed"), 0) },
		func() { r.Transitions = rapid.Int().Draw(t, "transitions") },
		func() { r.Token = record.Token(rapid.Uint64().Draw(t, "token")) },
		func() { r.HolderKey = record.Key(bytes.Draw(t, "holder key")) },
		func() { r.Claim = new(rapid.Make[record.Claim]().Draw(t, "claim")) },
		func() { r.Mark = new(rapid.Make[record.Mark]().Draw(t, "mark")) },
		func() { r.Member = new(rapid.Make[record.Member]().Draw(t, "member")) },
		func() {
			when := time.Unix(rapid.Int64().Draw(t, "when"), 0)
			r.History = append(r.History, record.Entry{When: when, Who: bytes.Draw(t, "who"), Why: bytes.Draw(t, "why")})
		},
	}), 1, 3).Draw(t, "spoils") {
		spoil()
	}
	return r
})

// TestEncodeAnything checks that Encode refuses a record, or writes a readable object.
func TestEncodeAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anything.Draw(t, "anything")
		o, err := codec.Encode(r, moment)
		if err != nil {
			if !errors.Is(err, lock.ErrInvalid) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		var d codec.Decoder
		got := d.Decode(o)
		huge := r.Transitions > 1<<30 || r.Token > 1<<62 || r.Mark != nil && r.Mark.Transitions > 1<<30 || r.Claim != nil && r.Claim.Transitions > 1<<30
		if got.Unreadable != "" && !huge {
			t.Fatalf("wrote %+v, which reads as unreadable: %s", r, got.Unreadable)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, r := range []record.Record{heldLock(), claimingLock(), releasedLock(), memberSession(), {}} {
		o, err := codec.Encode(r, moment)
		if err != nil {
			f.Fatal(err)
		}
		a := o.Annotations
		f.Add(o.Fields.Holder, o.Fields.DurationSeconds, o.Fields.Renewed.Unix(), o.Fields.Transitions, a[codec.TokenAnnotation], a[codec.HolderAnnotation],
			a[codec.HandoverAnnotation], a[codec.HistoryAnnotation], a[codec.MemberAnnotation], a[codec.BeatAnnotation], o.Labels[lock.GroupLabel], o.Fields.HolderKey, a[codec.ClaimAnnotation])
	}
	f.Fuzz(func(t *testing.T, holder string, duration, renewed, transitions int64, token, mark, handover, history, member, beat, group, key, claim string) {
		o := codec.Object{
			Fields:      codec.Fields{Holder: holder, DurationSeconds: duration, Renewed: time.Unix(renewed, 0), Transitions: transitions, HolderKey: key},
			Annotations: map[string]string{},
			Labels:      map[string]string{lock.GroupLabel: group},
		}
		for k, v := range map[string]string{
			codec.TokenAnnotation: token, codec.HolderAnnotation: mark, codec.HandoverAnnotation: handover,
			codec.HistoryAnnotation: history, codec.MemberAnnotation: member, codec.BeatAnnotation: beat, codec.ClaimAnnotation: claim,
		} {
			if v != "" {
				o.Annotations[k] = v
			}
		}
		var d codec.Decoder
		r := d.Decode(o)
		if len(r.Unreadable) > 200 || !utf8.ValidString(r.Unreadable) {
			t.Errorf("not one short line: %q", r.Unreadable)
		}
		if r.Unreadable != "" {
			return
		}
		if r.Claim != nil && (r.Claim.Identity == "" || r.Claim.Duration < time.Second || r.Claim.Transitions < 0) {
			t.Errorf("readable: %+v", r.Claim)
		}
		if r.Duration < 0 || r.Transitions < 0 || r.Mark != nil && r.Mark.Identity != "" && r.Mark.Duration < time.Second {
			t.Errorf("readable: %+v %+v", r, r.Mark)
		}
		// A readable record can be written again, and then reads the same, unless a stranger's name is too
		// long for us or there is no duration.
		written, err := codec.Encode(*r, moment)
		if err != nil {
			if len(r.Holder) > codec.MaxIdentity || len(r.HolderKey) > codec.MaxIdentity || len(r.HandoverTo) > codec.MaxIdentity || r.Duration == 0 ||
				r.Mark != nil && len(r.Mark.Identity) > codec.MaxIdentity || r.Member != nil && len(r.Member.Identity) > codec.MaxIdentity {
				return
			}
			t.Fatalf("%+v reads well and cannot be written: %v", r, err)
		}
		again := d.Decode(written)
		if r.Acquired.IsZero() {
			again.Acquired = time.Time{}
		}
		if r.Renewed.IsZero() {
			again.Renewed = time.Time{}
		}
		if !reflect.DeepEqual(again, r) {
			t.Errorf("read %+v, wrote it, read %+v", r, again)
		}
	})
}
