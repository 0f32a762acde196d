package podlabel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/podlabel"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf has Pods, as an API server would. What it does not override cannot be called.
type shelf struct {
	coreclient.PodInterface

	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	version int
	sent    []string // each request
	err     error    // of all requests
	// listed is called after a list was read, before its answer is given.
	listed func()
}

func (s *shelf) Pods(string) coreclient.PodInterface { return s }

func (s *shelf) put(name string, of ...string) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "edge"}}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range of {
		p.Labels[podlabel.LeadsPrefix+e], p.Labels[podlabel.GroupPrefix+"edge"] = "edge", "leads"
	}
	s.version++
	p.ResourceVersion = strconv.Itoa(s.version)
	s.pods[name] = p
}

// has are the labels of a Pod.
func (s *shelf) has(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for k, v := range s.pods[name].Labels {
		all = append(all, strings.TrimPrefix(k, podlabel.LeadsPrefix)+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (s *shelf) requests() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, s.sent = s.sent, nil
	return all
}

func (s *shelf) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *shelf) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, "get "+name)
	if s.err != nil {
		return nil, s.err
	}
	if s.pods[name] == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	return s.pods[name].DeepCopy(), nil
}

func (s *shelf) List(_ context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	s.mu.Lock()
	s.sent = append(s.sent, "list")
	all, err := &corev1.PodList{}, s.err
	selector, bad := labels.Parse(o.LabelSelector)
	if bad != nil {
		panic(bad)
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		if selector.Matches(labels.Set(s.pods[name].Labels)) {
			all.Items = append(all.Items, *s.pods[name].DeepCopy())
		}
	}
	meanwhile := s.listed
	s.mu.Unlock()
	if meanwhile != nil {
		meanwhile()
	}
	return all, err
}

func (s *shelf) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Pod, error) {
	var patch struct {
		Metadata struct {
			UID, ResourceVersion string
			Labels               map[string]*string
		}
	}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, "patch "+name)
	p, m := s.pods[name], patch.Metadata
	switch {
	case s.err != nil:
		return nil, s.err
	case p == nil:
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	case m.UID != string(p.UID), m.ResourceVersion != "" && m.ResourceVersion != p.ResourceVersion:
		return nil, apierrors.NewConflict(corev1.Resource("pods"), name, fmt.Errorf("uid or version"))
	}
	for k, v := range m.Labels {
		if v == nil {
			delete(p.Labels, k)
		} else {
			p.Labels[k] = *v
		}
	}
	s.version++
	p.ResourceVersion = strconv.Itoa(s.version)
	return p.DeepCopy(), nil
}

// desk has a Labeller of Pod "own" at work in a bubble.
type desk struct {
	*shelf
	labeller    *podlabel.Labeller
	logs        *observer.ObservedLogs
	transitions chan election.ElectionTransition
	done        chan struct{}
	stop        context.CancelFunc

	mu     sync.Mutex
	wish   podlabel.Wish
	wished int // calls
}

func newDesk(t *testing.T, configure func(*podlabel.Config)) *desk {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	d := &desk{
		shelf: &shelf{pods: map[string]*corev1.Pod{}}, logs: logs, transitions: make(chan election.ElectionTransition, 1000), done: make(chan struct{}),
		wish: podlabel.Wish{Asked: true, Leads: map[string]record.Token{}},
	}
	d.put("own")
	cfg := podlabel.Config{
		Pods: d.shelf, Namespace: "ns", Pod: "own", UID: "uid-own", Group: "edge", Clock: clocktest.Bubble{}, Log: zap.New(core),
		Wish: func() podlabel.Wish {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.wished++
			return podlabel.Wish{Asked: d.wish.Asked, Leads: maps.Clone(d.wish.Leads)}
		},
	}
	if configure != nil {
		configure(&cfg)
	}
	d.labeller = podlabel.New(cfg)
	return d
}

func (d *desk) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	go func() { // joined by end
		defer close(d.done)
		d.labeller.Run(ctx, d.transitions)
	}()
	synctest.Wait()
}

func (d *desk) end() {
	close(d.transitions)
	<-d.done
	d.stop()
}

// lead makes the member lead an election in the term, or no more if the term is 0.
func (d *desk) lead(name string, term record.Token) {
	d.mu.Lock()
	role := election.Leading
	if d.wish.Leads[name] = term; term == 0 {
		delete(d.wish.Leads, name)
		role = election.Draining
	}
	d.mu.Unlock()
	d.transitions <- election.ElectionTransition{Election: name, Transition: election.Transition{Event: election.EventRole, Role: role}}
}

func (d *desk) expect(t *testing.T, pod, want string) {
	t.Helper()
	synctest.Wait()
	if got := d.has(pod); got != want {
		t.Errorf("pod %s has %q, want %q", pod, got, want)
	}
}

const none, x = "app=edge", "app=edge group.primacy.dev/edge=leads x=edge"

// TestLabels checks the labels of a term: those of the dead go, and other groups keep theirs.
func TestLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		d.put("own", "left") // by an earlier container
		d.put("dead", "x")
		d.put("busy", "x", "y")
		d.put("other", "y")
		d.pods["other"].Labels[podlabel.LeadsPrefix+"x"] = "another-group"
		d.begin()
		d.expect(t, "own", none)
		d.lead("x", 5)
		d.expect(t, "own", x)
		d.expect(t, "dead", none)
		d.expect(t, "busy", "app=edge group.primacy.dev/edge=leads y=edge")
		d.expect(t, "other", "app=edge group.primacy.dev/edge=leads x=another-group y=edge")
		d.requests()
		d.transitions <- election.ElectionTransition{Election: "x", Transition: election.Transition{Event: election.EventLeader}}
		synctest.Wait()
		if sent := d.requests(); sent != nil {
			t.Errorf("requests for nothing: %v", sent)
		}
		d.lead("x", 0)
		d.expect(t, "own", none)
		d.lead("x", 9)
		d.expect(t, "own", x)
		d.mu.Lock()
		clear(d.wish.Leads) // the Manager has ended
		d.mu.Unlock()
		d.end()
		d.expect(t, "own", none)
	})
}

// TestOnePatch checks that many terms cost few requests, and few of them at a time.
func TestOnePatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf("e-%d", i))
		}
		d.put("dead", all...)
		d.begin()
		d.requests()
		for _, e := range all {
			d.lead(e, 5)
		}
		synctest.Wait()
		if sent := d.requests(); len(sent) > 6 || d.wished > 20 {
			t.Errorf("%d requests: %v; looked %d times", len(sent), sent, d.wished)
		}
		d.expect(t, "dead", none)
		if n := strings.Count(d.has("own"), "=edge"); n != 101 {
			t.Errorf("%d labels: %s", n, d.has("own"))
		}
		for i := range 1000 {
			d.lead("e-0", record.Token(i%2*(i+6)))
			time.Sleep(time.Millisecond)
		}
		if sent := d.requests(); len(sent) > 30 {
			t.Errorf("%d requests in a second", len(sent))
		}
		time.Sleep(time.Minute)
		d.end()
	})
}

// TestNewLeaderKeepsItsLabel checks that a Pod that has begun to lead since it was listed keeps its label.
func TestNewLeaderKeepsItsLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		d.put("next", "x")
		d.begin()
		d.listed = func() {
			d.listed = nil
			d.put("next", "x", "z") // its labels changed
		}
		d.lead("x", 5)
		synctest.Wait()
		if !strings.Contains(d.has("next"), "x=edge") {
			t.Error("it lost its label:", d.has("next"))
		}
		d.lead("x", 0)
		time.Sleep(10 * time.Second)
		if !strings.Contains(d.has("next"), "x=edge") {
			t.Error("it lost its label:", d.has("next"))
		}
		// A list that was sent while we led, and answered after.
		d.listed = func() { d.lead("x", 0) }
		d.lead("x", 6)
		synctest.Wait()
		if !strings.Contains(d.has("next"), "x=edge") {
			t.Error("a former leader took it away:", d.has("next"))
		}
		d.end()
	})
}

// TestLabelIsPutBack checks that a leader that lost its label to others has it back, in a new term at once.
func TestLabelIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		d.begin()
		d.lead("x", 5)
		d.expect(t, "own", x)
		d.put("own")
		d.lead("x", 7) // it lost the term, and began another, before we looked
		d.expect(t, "own", x)
		d.put("own")
		time.Sleep(2 * time.Minute)
		d.expect(t, "own", x)
		d.requests()
		time.Sleep(10 * time.Minute)
		if sent := d.requests(); len(sent) > 11 || slices.Contains(sent, "patch own") {
			t.Errorf("in ten quiet minutes: %v", sent)
		}
		d.end()
	})
}

// TestWithoutTheRight checks that a member without the right asks rarely, says so once, and goes on once it has the right.
func TestWithoutTheRight(t *testing.T) {
	for told, lines := range map[bool]int{false: 1, true: 0} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, func(c *podlabel.Config) { c.Told = told })
			denied := apierrors.NewForbidden(corev1.Resource("pods"), "own", nil)
			d.refuse(denied)
			d.begin()
			d.lead("x", 5)
			time.Sleep(10 * time.Minute)
			if sent := d.requests(); len(sent) > 12 {
				t.Errorf("%d requests: %v", len(sent), sent)
			}
			if d.logs.Len() != lines {
				t.Errorf("told %v: %v", told, d.logs.All())
			}
			d.refuse(nil)
			time.Sleep(time.Minute)
			d.expect(t, "own", x)
			d.refuse(denied)
			d.lead("x", 0)
			time.Sleep(10 * time.Minute)
			if d.logs.Len() != lines+1 {
				t.Errorf("told %v, revoked: %v", told, d.logs.All())
			}
			d.end()
		})
	}
}

// ask sets whether any election has a label.
func (d *desk) ask(asked bool) {
	d.mu.Lock()
	d.wish.Asked = asked
	d.mu.Unlock()
	d.labeller.Changed()
	synctest.Wait()
}

// rests checks that nothing is sent for an hour.
func (d *desk) rests(t *testing.T) {
	t.Helper()
	d.requests()
	time.Sleep(time.Hour)
	if sent := d.requests(); sent != nil {
		t.Errorf("nobody asked for %v", sent)
	}
}

// TestNobodyAsked checks that nothing is sent while no election has a label, and that labels go with the last one.
func TestNobodyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		d.put("own", "left")
		d.ask(false)
		d.begin()
		d.rests(t)
		d.ask(true)
		d.expect(t, "own", none)
		d.lead("x", 5)
		d.expect(t, "own", x)
		d.lead("x", 0)
		d.ask(false)
		d.expect(t, "own", none)
		d.rests(t)
		d.end()
	})
}

// TestTheLastLabelGoes checks that the label goes with the last election that has one, although the first attempt fails.
func TestTheLastLabelGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		d.begin()
		d.lead("x", 5)
		d.expect(t, "own", x)
		d.refuse(apierrors.NewInternalError(fmt.Errorf("away")))
		d.mu.Lock()
		delete(d.wish.Leads, "x") // with the same change of the configuration
		d.mu.Unlock()
		d.ask(false)
		d.refuse(nil)
		time.Sleep(time.Minute)
		d.expect(t, "own", none)
		d.rests(t)
		d.end()
	})
}

// TestFailures checks that failed requests are repeated, later each time, that another Pod of the same name is left alone,
// and that nothing is sent after the end.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		d.begin()
		d.refuse(apierrors.NewInternalError(fmt.Errorf("away")))
		d.lead("x", 5)
		time.Sleep(5 * time.Minute)
		if n := len(d.requests()); n < 8 || n > 20 {
			t.Errorf("%d requests in five minutes", n)
		}
		d.refuse(nil)
		time.Sleep(31 * time.Second)
		d.expect(t, "own", x)

		d.put("own")
		d.pods["own"].UID = "another"
		d.lead("x", 6)
		time.Sleep(5 * time.Minute)
		d.expect(t, "own", none)
		d.stop()
		d.requests()
		d.lead("x", 7)
		d.end()
		if sent := d.requests(); sent != nil {
			t.Errorf("after the end: %v", sent)
		}
	})
}
