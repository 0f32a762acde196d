package trials

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// bystander is an election that is handed over while other work of the same member misbehaves.
const bystander = "bystander"

// badCompany checks that work that ignores SIGTERM, work that forks and detaches, and work that
// prints 100 MB a second hold up no other work, and end with their member.
func badCompany(t *testing.T, b programs) {
	p := newPair(t, b)
	if err := syscall.Mkfifo(filepath.Join(p.dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	elections := []string{fmt.Sprintf("name: %s\nrunners:\n- name: work\n  %s", bystander, p.runner("exec", "alone"))}
	var bad []string
	for _, kind := range kinds {
		for _, act := range []string{"stubborn", "flood"} {
			name := kind + "-" + act
			bad = append(bad, name)
			elections = append(elections, fmt.Sprintf("name: %s\npriority: {policy: none}\nrunners:\n- name: work\n  %s", name, p.runner(kind, act)))
		}
	}
	p.configure("defaultRevision:\n  configMap: {name: primacy-revisions, key: default}\n", elections...)
	s := newSwitch(p)
	p.start(0, "--revision", "r0")
	p.awaitAll(len(bad)*3 + 1)
	p.start(1, "--revision", "r1")

	n := 5 * trials()
	if trials() > 1 {
		n = 100
	}
	before := s.handovers(n)
	t.Logf("handovers of another election, work that ignores SIGTERM and detaches beside it: from the change of the preference to the next runner: %s", spread(before))
	gate, err := os.OpenFile(filepath.Join(p.dir, "gate"), os.O_WRONLY, 0) // the floods wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Close(); err != nil {
		t.Fatal(err)
	}
	flooding := time.Now()
	during := s.handovers(n)
	lasted := time.Since(flooding)
	t.Logf("handovers of another election, two floods of 100 MB/s beside it too: %s", spread(during))

	began := time.Now()
	p.stop(0)
	t.Logf("the member with the floods left within %v", time.Since(began).Round(time.Millisecond))
	p.stop(1)
	printed := p.printed()
	t.Logf("the floods printed %d MB a second", int(float64(printed)/lasted.Seconds()/1e6))
	if printed == 0 {
		t.Error("nobody printed too much")
	}
	if p.stage.Alive() {
		t.Error("work lives though its members have left")
	}
}

// printed returns how many bytes the members say that they dropped.
func (p *pair) printed() (bytes int) {
	p.t.Helper()
	for i := range p.members {
		text, err := os.ReadFile(filepath.Join(p.dir, fmt.Sprintf("member%d.log", i)))
		if err != nil {
			p.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var said struct {
				Message string `json:"msg"`
				Bytes   int    `json:"bytes"`
			}
			if json.Unmarshal([]byte(line), &said) == nil && strings.HasPrefix(said.Message, "output dropped") {
				bytes += said.Bytes
			}
		}
	}
	return bytes
}

// switcher moves the bystander by changing the preferred revision.
type switcher struct {
	*pair
	maps coreclient.ConfigMapInterface
	next int
}

func newSwitch(p *pair) *switcher {
	p.t.Helper()
	client, err := coreclient.NewForConfig(p.cluster.Config)
	if err != nil {
		p.t.Fatal(err)
	}
	s := &switcher{pair: p, maps: client.ConfigMaps(p.namespace), next: 1}
	_, err = s.maps.Create(p.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "primacy-revisions"}, Data: map[string]string{"default": "r0"},
	}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// handovers makes n handovers, and returns how long each took: from the change of the preference
// until the next member's work began, by that work's clock.
func (s *switcher) handovers(n int) []time.Duration {
	s.t.Helper()
	boot := clock.Boottime()
	var took []time.Duration
	for range n {
		ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
		changed := boot.Now()
		patch := fmt.Sprintf(`{"data":{"default":"r%d"}}`, s.next)
		if _, err := s.maps.Patch(ctx, "primacy-revisions", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			s.t.Fatal(err)
		}
		cancel()
		s.await(0, bystander)
		took = append(took, s.began().Sub(changed))
		s.next = 1 - s.next
	}
	return took
}

// began returns when the newest work of the bystander began.
func (s *switcher) began() record.Instant {
	s.t.Helper()
	terms := s.work(bystander)
	at := slices.IndexFunc(terms, func(w span.Span) bool { return w.Token == s.seen[bystander].token })
	if at < 0 {
		s.t.Fatal("the newest work has no file")
	}
	return terms[at].Begin
}
