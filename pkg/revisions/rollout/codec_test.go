package rollout

import (
	"reflect"
	"testing"
	"time"
)

func TestRoundTrip(t *testing.T) {
	p := planOf(Paused)
	p.Pins = []Pin{{Election: "web", Revision: "1.10", By: "me", At: At(start)}, {Election: "db", Member: "web-0"}}
	p.Rollout.Steps = []Step{{Elections: []string{"no", "12"}}, {SetWeight: 25}, {Pause: &Pause{}}, {Pause: &Pause{Duration: 10 * time.Minute}}, {Analysis: &Analysis{For: time.Minute}}, {SetWeight: 100}}
	p.Rollout.Checks = []string{"flaps"}
	p.Rollout.Promote = &Promote{Step: 2}
	p.Status.Reach.UpTo = 0x12
	p.History = []Ended{{UID: uid, Stable: "a", Canary: "b", Started: At(start), Ended: At(start), How: Aborted}}
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
