//go:build linux

package interop_test

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// TestUpgrade checks groups with members of an earlier commit and of today: rolling upgrades and
// the way back, one member after the other, and a member that is killed while both versions run.
func TestUpgrade(t *testing.T) {
	before, today := buildVersions(t)
	for _, tt := range []struct {
		name        string
		there, back choice
		how         syscall.Signal
		slow        bool
	}{
		{name: "leader first", there: busiest, back: idlest, how: syscall.SIGTERM},
		{name: "followers first", there: idlest, back: busiest, how: syscall.SIGTERM},
		{name: "leader first, killed", there: busiest, back: idlest, how: syscall.SIGKILL},
		{name: "followers first, killed", there: idlest, back: busiest, how: syscall.SIGKILL, slow: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.slow && !long {
				t.Skip("PRIMACY_LONG is not set")
			}
			t.Parallel()
			g := newGroup(t, before, all)
			for _, host := range []string{"a", "b", "c"} {
				g.join(before, host, "blue")
			}
			g.led()
			g.roll(today, tt.there, tt.how)
			g.roll(before, tt.back, tt.how)
		})
	}
	t.Run("canary", func(t *testing.T) {
		t.Parallel()
		canary(t, before, today)
	})
	t.Run("two groups overlap", func(t *testing.T) {
		t.Parallel()
		apart(t, before, today)
	})
}

// choice chooses which of several members is restarted next.
type choice func(g *group, of []*whole) *whole

// busiest is the member that is at work in most elections.
func busiest(g *group, of []*whole) *whole {
	return slices.MaxFunc(of, func(a, b *whole) int { return cmp.Compare(g.load(a), g.load(b)) })
}

// idlest is the member that is at work in fewest elections.
func idlest(g *group, of []*whole) *whole {
	return slices.MinFunc(of, func(a, b *whole) int { return cmp.Compare(g.load(a), g.load(b)) })
}

// roll replaces all members, one after the other, by members of another version. If tests may take long,
// both versions run together for a while before the last member is replaced.
func (g *group) roll(to version, next choice, how syscall.Signal) {
	g.t.Helper()
	for {
		former := slices.DeleteFunc(g.living(), func(m *whole) bool { return m.version == to })
		switch len(former) {
		case 0:
			return
		case 1:
			if long {
				g.live(4*ours().LeaseDuration, g.living()...)
			}
		}
		m := next(g, former)
		load, since := g.load(m), now()
		m.end(how)
		g.join(to, m.host, m.revision)
		g.led()
		g.gaps(fmt.Sprintf("%v, at work in %d of %d, %v, then %s", m, load, len(g.locks), how, to.name), since)
	}
}

// living are the members that have not ended.
func (g *group) living() (found []*whole) {
	for _, m := range g.members {
		select {
		case <-m.ended:
		default:
			found = append(found, m)
		}
	}
	return found
}

// canary upgrades by a rollout: the new version has a revision of its own, each revision has two
// members, and members of either version drive rollouts, there and back.
func canary(t *testing.T, before, today version) {
	g := newGroup(t, before, all)
	client, err := coreclient.NewForConfig(g.cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	maps := client.ConfigMaps(g.space)
	preference := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "primacy-revisions"}, Data: map[string]string{"default": "blue"}}
	if _, err := maps.Create(t.Context(), preference, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	blue := []*whole{g.join(before, "blue-0", "blue"), g.join(before, "blue-1", "blue")}
	g.led()
	green := []*whole{g.join(today, "green-0", "green"), g.join(today, "green-1", "green")}
	g.rollout(maps, before, blue, green)
	g.rollout(maps, today, green, blue)
}

// rollout moves all elections to another revision, a quarter first. Then it kills the busiest member of the
// former revision, which mostly drives the rollout.
func (g *group) rollout(maps coreclient.ConfigMapInterface, by version, from, to []*whole) {
	g.t.Helper()
	begun := now()
	led := func(n int) {
		g.t.Helper()
		g.until(fmt.Sprintf("%d are led by %s, all others by %s", n, to[0].revision, from[0].revision), func() string {
			there, here := 0, 0
			for _, l := range g.locks {
				of := func(m *whole) bool { return g.at(l, m.host) }
				switch {
				case slices.ContainsFunc(to, of):
					there++
				case slices.ContainsFunc(from, of):
					here++
				}
			}
			if there != n || here != len(g.locks)-n {
				return fmt.Sprintf("%d and %d of %d", there, here, len(g.locks))
			}
			return ""
		})
	}
	// The rollout has no checks: on a busy machine they might fail through no fault of the canary's.
	g.run(by, "steps: [{setWeight: 25}, {pause: {}}, {setWeight: 100}]\nchecks: [none]\n", "start", "--canary", to[0].revision, "--steps", "-", "--yes")
	led(len(g.locks) / 4)
	g.gaps(fmt.Sprintf("rollout from %s to %s, a quarter", from[0].version.name, to[0].version.name), begun)
	m, killed := busiest(g, from), now()
	load := g.load(m)
	m.end(syscall.SIGKILL)
	led(len(g.locks) / 4)
	g.gaps(fmt.Sprintf("%v, at work in %d of %d, killed amid the rollout", m, load, len(g.locks)), killed)
	from[slices.Index(from, m)] = g.join(m.version, m.host, m.revision)
	promoted := now()
	g.run(by, "", "promote", "--yes")
	led(len(g.locks))
	g.gaps("promoted", promoted)
	g.completed(maps)
}

// completed waits until the rollout is complete.
func (g *group) completed(maps coreclient.ConfigMapInterface) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	w, err := maps.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: rollout.ObjectName("edge")}))
	if err != nil {
		g.t.Fatal(err)
	}
	defer w.Stop()
	said := ""
	for e := range w.ResultChan() { // the first event shows what is stored now
		if m, ok := e.Object.(*corev1.ConfigMap); ok {
			if said = m.Data[rollout.KeyStatus]; strings.Contains(said, "phase: "+string(rollout.Complete)+"\n") {
				return
			}
		}
	}
	g.t.Fatalf("the rollout does not complete: %s", said)
}

// run runs a command about rollouts, with the given standard input.
func (g *group) run(v version, stdin string, args ...string) {
	g.t.Helper()
	args = append(append([]string{"rollout"}, args...), "--kubeconfig", g.cluster.Kubeconfig, "--namespace", g.space, "--group", "edge", "--config", g.config)
	cmd := exec.Command(v.program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		g.t.Fatalf("%s: %s: %v\n%s", v.name, strings.Join(args, " "), err, out)
	}
}

// apart lets two members in different namespaces, which share no lock, work at once: the judge must see
// that.
func apart(t *testing.T, before, today version) {
	g := newGroup(t, before, 1)
	g.overlapping = true
	g.start(before, "a", "blue")
	g.start(today, "b", "blue", "--namespace", g.cluster.Namespace(t))
	g.each("both are at work", func(l string) bool {
		return len(g.spans[l]) == 2
	})
}
