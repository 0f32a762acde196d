package configmap

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

var (
	acquired = time.Date(2026, 11, 20, 8, 58, 30, 0, time.UTC)
	renewed  = time.Date(2026, 11, 20, 8, 59, 1, 0, time.UTC)
)

// TestLeaderBytes checks the bytes that client-go and Istio write; they never change.
func TestLeaderBytes(t *testing.T) {
	for what, c := range map[string]struct {
		fields codec.Fields
		want   string
	}{
		"with a key": {
			codec.Fields{Holder: "a", HolderKey: "^default", DurationSeconds: 30, Acquired: acquired, Renewed: renewed},
			`{"holderIdentity":"a","holderKey":"^default","leaseDurationSeconds":30,"acquireTime":"2026-11-20T08:58:30Z","renewTime":"2026-11-20T08:59:01Z","leaderTransitions":0}`,
		},
		"without": {
			codec.Fields{Holder: "edge-0_0a1b2c3d", DurationSeconds: 15, Acquired: acquired, Renewed: renewed, Transitions: 7},
			`{"holderIdentity":"edge-0_0a1b2c3d","leaseDurationSeconds":15,"acquireTime":"2026-11-20T08:58:30Z","renewTime":"2026-11-20T08:59:01Z","leaderTransitions":7}`,
		},
		"released": {
			codec.Fields{DurationSeconds: 1, Acquired: renewed, Renewed: renewed, Transitions: 7},
			`{"holderIdentity":"","leaseDurationSeconds":1,"acquireTime":"2026-11-20T08:59:01Z","renewTime":"2026-11-20T08:59:01Z","leaderTransitions":7}`,
		},
		"elsewhere, finely": {
			codec.Fields{Holder: "a", DurationSeconds: 30, Acquired: acquired.In(time.FixedZone("", 3600)), Renewed: renewed.Add(999999 * time.Microsecond)},
			`{"holderIdentity":"a","leaseDurationSeconds":30,"acquireTime":"2026-11-20T08:58:30Z","renewTime":"2026-11-20T08:59:01Z","leaderTransitions":0}`,
		},
		"with what JSON escapes": {
			codec.Fields{Holder: `a"<&>\`, DurationSeconds: 30},
			`{"holderIdentity":"a\"\u003c\u0026\u003e\\","leaseDurationSeconds":30,"acquireTime":null,"renewTime":null,"leaderTransitions":0}`,
		},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := writeLeader(c.fields, "")
			if err != nil || got != c.want {
				t.Errorf("wrote %s, %v\nwant  %s", got, err, c.want)
			}
			f, unknown := readLeader(got)
			c.fields.Acquired, c.fields.Renewed = c.fields.Acquired.UTC().Truncate(time.Second), c.fields.Renewed.UTC().Truncate(time.Second)
			if f != c.fields || unknown != "" {
				t.Errorf("read %+v and %q, want %+v", f, unknown, c.fields)
			}
		})
	}
}

// TestLeaderTolerates checks that we read a lock as free, or as held, if the others do.
func TestLeaderTolerates(t *testing.T) {
	for s, want := range map[string]codec.Fields{
		`{}`:                       {},
		` {"holderIdentity":"a"} `: {Holder: "a"},
		`{"HolderIdentity":"a"}`:   {Holder: "a"},
		`{"holderIdentity":"b","holderIdentity":"a"}`:                    {Holder: "a"},
		`{"holderIdentity":null,"acquireTime":null}`:                     {},
		`{"holderIdentity":"a","renewTime":"2026-11-20T09:59:01+01:00"}`: {Holder: "a", Renewed: renewed},
		`{"leaderTransitions":3,"leaseDurationSeconds":1}`:               {Transitions: 3, DurationSeconds: 1},
	} {
		f, unknown := readLeader(s)
		f.Renewed = f.Renewed.UTC()
		if want.Renewed.IsZero() {
			f.Renewed = time.Time{}
		}
		if f != want || unknown != "" {
			t.Errorf("%s is read as %+v and %q, want %+v", s, f, unknown, want)
		}
	}
}

// TestLeaderProblems checks that we notice what stops the others, and read what can be read of it.
func TestLeaderProblems(t *testing.T) {
	for s, want := range map[string]string{
		``:                        "broken JSON",
		`{`:                       "broken JSON",
		`{"holderIdentity":"a"`:   "broken JSON",
		`{"holderIdentity":"a"}x`: "broken JSON",
		`null`:                    "is null",
		`[]`:                      "JSON of the wrong type",
		`"a"`:                     "JSON of the wrong type",
		`{"holderIdentity":1}`:    `JSON field "holderIdentity" has the wrong type`,
		`{"holderIdentity":"a","leaseDurationSeconds":"30"}`:                    `JSON field "leaseDurationSeconds" has the wrong type`,
		`{"holderIdentity":"a","leaseDurationSeconds":30.5}`:                    `JSON field "leaseDurationSeconds" has the wrong type`,
		`{"holderIdentity":"a","leaderTransitions":1e99}`:                       `JSON field "leaderTransitions" has the wrong type`,
		`{"holderIdentity":"a","renewTime":""}`:                                 "renewTime is no time",
		`{"holderIdentity":"a","acquireTime":"yesterday"}`:                      "acquireTime is no time",
		`{"holderIdentity":"a","acquireTime":7}`:                                `JSON field "acquireTime" has the wrong type`,
		"{\"holderIdentity\":\"a\xff\"}":                                        "is not valid UTF-8",
		`{"holderIdentity":"` + strings.Repeat("a", codec.MaxAnnotation) + `"}`: "131093 bytes are more than 131072",
	} {
		f, unknown := readLeader(s)
		if f.Problem != LeaderAnnotation+": "+want || unknown != "" {
			t.Errorf("%.60q: %q and %q, want %q", s, f.Problem, unknown, want)
		}
		if strings.Contains(s, `"a",`) && f.Holder != "a" {
			t.Errorf("%s: read %+v", s, f)
		}
	}
}

// TestLeaderUnknown checks that fields that we do not know stay unchanged, after those that we know.
func TestLeaderUnknown(t *testing.T) {
	const others = `{"strategy":"Oldest","holderIdentity":"istiod","x <":{"deep":[1.50, "é"]},"HOLDERKEY":"k","renewTime":"2026-11-20T08:59:01Z"}`
	f, unknown := readLeader(others)
	f.Holder = "ours"
	got, err := writeLeader(f, unknown)
	const want = `{"holderIdentity":"ours","holderKey":"k","leaseDurationSeconds":0,"acquireTime":null,"renewTime":"2026-11-20T08:59:01Z","leaderTransitions":0,"strategy":"Oldest","x \u003c":{"deep":[1.50, "é"]}}`
	if err != nil || got != want {
		t.Errorf("wrote %s, %v\nwant  %s", got, err, want)
	}
	if _, again := readLeader(got); again != unknown {
		t.Errorf("kept %s, then %s", unknown, again)
	}
	for n, keeps := range map[int]bool{maxUnknown - 7: true, maxUnknown - 6: false} {
		_, unknown := readLeader(`{"x":"` + strings.Repeat("y", n) + `"}`)
		if (unknown != "") != keeps {
			t.Errorf("of %d bytes %d are kept", n, len(unknown))
		}
	}
}

// TestNeverHeld checks that a lock that nobody ever held has no leader annotation; a lock that says
// anything has one.
func TestNeverHeld(t *testing.T) {
	s := In(nil, "istio-system")
	for what, c := range map[string]struct {
		r    record.Record
		want bool
	}{
		"empty":       {record.Record{Group: "edge", Election: "a"}, false},
		"with marks":  {record.Record{Mark: &record.Mark{Beat: 1}, Token: 7}, false},
		"released":    {record.Record{Duration: time.Second}, true},
		"transitions": {record.Record{Transitions: 1}, true},
		"key":         {record.Record{HolderKey: "default"}, true},
		"times":       {record.Record{Renewed: renewed}, true},
		"unknown":     {record.Record{Rest: restOf(`{"strategy":"x"}`)}, true},
	} {
		m, err := s.encode("a", c.r, record.Version{})
		if err != nil {
			t.Fatal(err)
		}
		if l, found := m.Annotations[LeaderAnnotation]; found != c.want {
			t.Errorf("%s: the annotation is %q", what, l)
		}
		if r := new(codec.Decoder).Decode(object(m)); r.Unreadable != "" || r.Holder != "" || r.Duration != c.r.Duration {
			t.Errorf("%s: read as %+v", what, r)
		}
	}
}

func restOf(leader string) any {
	return restOfMeta(annotated(leader))
}

func restOfMeta(m metav1.ObjectMeta) any {
	var d codec.Decoder
	return d.Decode(object(&corev1.ConfigMap{ObjectMeta: m})).Rest
}

func FuzzLeader(f *testing.F) {
	f.Add(`{"holderIdentity":"a","holderKey":"^default","leaseDurationSeconds":30,"acquireTime":"2026-11-20T08:58:30Z","renewTime":"2026-11-20T08:59:01Z","leaderTransitions":0}`)
	f.Add(`{"x":[{}],"HolderIdentity":"b","acquireTime":null,"ſ":1}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, s string) {
		fields, unknown := readLeader(s)
		if len(fields.Problem) > 200 || !utf8.ValidString(fields.Problem) || strings.ContainsAny(fields.Problem, "\r\n") {
			t.Errorf("not one short line: %q", fields.Problem)
		}
		if fields.Problem != "" {
			if unknown != "" {
				t.Errorf("keeps %q of what is broken", unknown)
			}
			return
		}
		var d codec.Decoder
		if d.Decode(codec.Object{Fields: fields}).Unreadable != "" {
			return // nobody writes such fields again
		}
		written, err := writeLeader(fields, unknown)
		if err != nil {
			t.Fatal(err)
		}
		again, kept := readLeader(written)
		fields.Acquired, fields.Renewed = whole(fields.Acquired), whole(fields.Renewed)
		again.Acquired, again.Renewed = whole(again.Acquired), whole(again.Renewed)
		if again != fields || kept != unknown {
			t.Errorf("read %+v %q, wrote %s, read %+v %q", fields, unknown, written, again, kept)
		}
	})
}

func whole(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}
