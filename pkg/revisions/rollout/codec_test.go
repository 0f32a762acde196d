package rollout

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func full() Plan {
	p := planOf(Paused)
	p.Pins = []Pin{{Election: "web", Revision: "1.10", By: "me", At: At(start)}, {Election: "db", Member: "web-0"}}
	p.Drained = []Drain{{Member: "web-0", By: "me", At: At(start)}, {Member: "1e3"}}
	p.Standstill = &Standstill{By: "me", At: At(start), Until: At(start.Add(time.Hour))}
	p.Handovers = []Handover{{Election: "web", To: "web-1", At: At(start), Until: At(start.Add(time.Minute))}}
	p.Rollout.Steps = []Step{{Elections: []string{"no", "12"}}, weigh(25), pause(0), pause(10 * time.Minute), analyse(time.Minute), weigh(100)}
	p.Rollout.Checks = []string{"flaps"}
	p.Rollout.Promote = &Promote{Step: 2}
	p.Status.Reach = Reach{UpTo: 0x12, Names: []string{"12", "no"}, Except: []string{"1e3"}}
	p.Status.Failures = []Failure{{Check: "flaps", Election: "web", Member: "web-0_00000001", What: "x: y", At: At(start), Forgiven: true}}
	p.Status.Moving = []Moving{{"web", At(start.Add(time.Millisecond))}}
	p.Status.Absent = []string{"yes"}
	p.History = []Ended{{UID: uid, Stable: "a", Canary: "b", Started: At(start), Ended: At(start), How: Aborted}}
	return p
}

func TestRoundTrip(t *testing.T) {
	p := full()
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(data, Plan{})
	if err != nil {
		t.Fatal(err)
	}
	sealed := p.Status.Sealed()
	p.Status, p.read = &sealed, true
	if !reflect.DeepEqual(got, p) {
		t.Errorf("read %+v\nwant %+v\nfrom %v", got, p, data)
	}
}

// TestTextsAreKept checks that any text of a person or an error can be stored, on one line.
func TestTextsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		p := full()
		p.Pins[0].By, p.Rollout.By, p.Status.Message, p.Status.Failures[0].What, p.History[0].By = text, text, text, text+"!", text
		p.Drained[0].By, p.Standstill.By, p.Handovers[0].By = text, text, text
		data, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(data, Plan{})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := got.Encode(); err != nil || !reflect.DeepEqual(again, data) {
			t.Fatalf("%v: %v became %v", err, data, again)
		}
		if want := clean(text); got.Pins[0].By != want || got.Rollout.By != want || got.Status.Message != want {
			t.Fatalf("%q became %q", want, got.Pins[0].By)
		}
	})
}

func FuzzRead(f *testing.F) {
	data, err := full().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[KeyPins], data[KeyRollout], data[KeyStatus], data[KeyHistory])
	f.Add("", goodSpec, "", "")
	f.Add("[]", "{}", "a: &a [*a]", "- {<<: {}}")
	f.Fuzz(func(t *testing.T, pins, spec, status, history string) {
		data := map[string]string{KeyPins: pins, KeyRollout: spec, KeyStatus: status, KeyHistory: history}
		p, err := Read(data, Plan{})
		if err == nil && len(p.Unreadable) > 0 {
			t.Fatalf("unreadable %v without an error", p.Unreadable)
		}
		p.Preferred("web", blue)
		p.Digest(blue)
		if p.Rollout != nil {
			Advance(*p.Rollout, p.Status, Seen{Own: own, Elections: []Election{{Name: own}, {Name: "web"}}}, start)
		}
		if len(p.Unreadable) > 0 {
			return
		}
		stored, err := p.Encode()
		if err != nil {
			t.Fatalf("what was read is not written: %v", err)
		}
		again, err := Read(stored, Plan{})
		if err != nil {
			t.Fatal(err)
		}
		if again.Digest(blue) != p.Digest(blue) {
			t.Fatalf("%+v became %+v", p, again)
		}
	})
}
