package steering_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/atomic"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/mapstest"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// bubbleClock is the time of a synctest bubble, with a wall clock that somebody may set.
type bubbleClock struct {
	clocktest.Bubble
	ahead *atomic.Duration
}

func (c bubbleClock) Wall() time.Time { return time.Now().Add(c.ahead.Load()) }

// TestPartsEnd checks that a source delivers what follows from a pause and a handover when they begin and when they end,
// also if somebody sets the clock meanwhile.
func TestPartsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maps, now := mapstest.New(), bubbleClock{ahead: new(atomic.Duration)}
		edit := func(change func(rollout.Plan) (rollout.Plan, error)) {
			t.Helper()
			if err := steering.Edit(t.Context(), maps.ConfigMaps("default"), group, func(p *rollout.Plan) (err error) {
				*p, err = change(*p)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		source := steering.New(maps, "default", group, always{blue}, now, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var last atomic.Pointer[election.Preference]
		ended := make(chan error)
		go func() { ended <- source.Watch(ctx, func(p election.Preference) { last.Store(&p) }) }()
		expect := func(after time.Duration, want record.Preferred) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := (*last.Load()).For("web"); got != want {
				t.Errorf("after %v more web prefers %v, want %v", after, got, want)
			}
		}
		paused, handed := blue, blue
		paused.Paused, handed.Member = true, "edge-1"
		at := func() rollout.Time { return rollout.At(now.Wall()) }
		edit(func(p rollout.Plan) (rollout.Plan, error) {
			return p.Stand(rollout.Standstill{At: at(), Until: rollout.At(now.Wall().Add(time.Hour))})
		})
		expect(time.Second, paused)
		expect(59*time.Minute, paused)
		expect(time.Minute, blue)
		edit(func(p rollout.Plan) (rollout.Plan, error) {
			return p.HandOver(rollout.Handover{Election: "web", To: "edge-1", At: at(), Until: rollout.At(now.Wall().Add(time.Hour))})
		})
		expect(time.Second, handed)
		now.ahead.Store(2 * time.Hour)
		expect(time.Minute, blue)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestAPauseEndsBesideWhatIsUnreadable checks that a source that never read a part of the plan delivers that a pause ended, all
// the same: members would otherwise take no lock for ever.
func TestAPauseEndsBesideWhatIsUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maps, now := mapstest.New(), bubbleClock{ahead: new(atomic.Duration)}
		paused := rollout.Plan{Standstill: &rollout.Standstill{NoTakeover: true, At: rollout.At(now.Wall()), Until: rollout.At(now.Wall().Add(time.Hour))}}
		data, err := paused.Encode()
		if err != nil {
			t.Fatal(err)
		}
		data[rollout.KeyPins] = "- {elektion: web}"
		if _, err := maps.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: rollout.ObjectName(group), Namespace: "default"}, Data: data,
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		source := steering.New(maps, "default", group, always{blue}, now, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var last atomic.Pointer[election.Preference]
		ended := make(chan error)
		go func() { ended <- source.Watch(ctx, func(p election.Preference) { last.Store(&p) }) }()
		for _, want := range []record.Preferred{
			{State: record.PreferredNotSynced, Paused: true, NoTakeover: true},
			{State: record.PreferredNotSynced},
		} {
			time.Sleep(time.Second)
			synctest.Wait()
			if got := (*last.Load()).For("web"); got != want {
				t.Errorf("web prefers %+v, want %+v", got, want)
			}
			time.Sleep(time.Hour)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
