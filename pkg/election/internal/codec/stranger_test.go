package codec_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhoeverHoldsCanBeClaimedFrom checks that we can write and read a claim from whatever identity a stranger
// sets as the holder: otherwise nobody would ever lead again.
func TestWhoeverHoldsCanBeClaimedFrom(t *testing.T) {
	for what, holder := range map[string]string{
		"too long":          strings.Repeat("x", 5000),
		"far too long":      strings.Repeat("\u00e4", 1<<19),
		"no text":           "edge-\xff\xfe_01234567",
		"long and no text":  strings.Repeat("\xff", 5000),
		"nothing but noise": strings.Repeat("\xff ", 2000),
	} {
		var d codec.Decoder
		read := d.Decode(codec.Object{Fields: codec.Fields{Holder: holder}})
		if read.Unreadable == "" || record.OurForm(read.Holder) {
			t.Errorf("%s: read as %q, unreadable %q", what, read.Holder, read.Unreadable)
		}
		claiming := claimingLock()
		claiming.Claim = &record.Claim{Identity: read.Holder, Duration: time.Second}
		o, err := codec.Encode(claiming, moment)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if r := d.Decode(o); r.Claim == nil || *r.Claim != *claiming.Claim || !r.Bound() {
			t.Errorf("%s: the claim is read as %+v, unreadable %q", what, r.Claim, r.Unreadable)
		}
	}
}

// TestWhateverMemberCanBeEnded checks that we can write the end of a session whatever identity a stranger sets in what its member says
// of itself: otherwise nobody would ever lead again what that session renews.
func TestWhateverMemberCanBeEnded(t *testing.T) {
	const dead = "m1_01234567"
	for what, identity := range map[string]string{
		"too long":     strings.Repeat("x", codec.MaxIdentity+1),
		"far too long": strings.Repeat("x", 1<<16),
		"no text":      "m1\xff_01234567",
	} {
		session := record.Record{Holder: dead, Duration: 15 * time.Second, Group: "edge", Mark: &record.Mark{Identity: dead, Beat: 7, Duration: 15 * time.Second, Renewal: record.RenewalRecord}}
		o, err := codec.Encode(session, moment)
		if err != nil {
			t.Fatal(err)
		}
		o.Annotations[codec.MemberAnnotation] = `{"identity":"` + identity + `"}`
		var d codec.Decoder
		r := d.Decode(o)
		r.Holder, r.Mark.Identity = "", "" // as whoever ends it writes it
		if _, err := codec.Encode(*r, moment); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestEndlessDurationIsLong checks that Decode reads a duration beyond the limit as the longest one, not as
// zero: we must not cut a foreign holder short.
func TestEndlessDurationIsLong(t *testing.T) {
	for seconds, want := range map[int64]time.Duration{
		math.MaxInt32: codec.MaxDuration, math.MaxInt64: codec.MaxDuration, 7200: 2 * time.Hour, -5: 0,
	} {
		var d codec.Decoder
		if r := d.Decode(codec.Object{Fields: codec.Fields{Holder: "b", DurationSeconds: seconds}}); r.Duration != want {
			t.Errorf("%d s are read as %v, want %v", seconds, r.Duration, want)
		}
	}
}

// TestHighestNumbers checks that Decode accepts the highest numbers that Encode accepts: if others could not
// read a record, they would take the lock while its holder relies on it.
func TestHighestNumbers(t *testing.T) {
	for _, tt := range []struct {
		token       record.Token
		transitions int
		ok          bool
	}{
		{record.MaxToken, record.MaxTransitions, true},
		{record.MaxToken + 1, 1, false},
		{1, record.MaxTransitions + 1, false},
	} {
		r := heldLock()
		r.Token, r.Transitions, r.Mark.Transitions = tt.token, tt.transitions, tt.transitions
		o, err := codec.Encode(r, moment)
		if (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
		var d codec.Decoder
		if err == nil && !d.Decode(o).Bound() {
			t.Errorf("%+v is written but not read", tt)
		}
	}
	if got := record.NextTransitions(record.MaxTransitions); got != 1 {
		t.Errorf("after the highest count comes %d", got)
	}
}
