package steering_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// TestEditsMeet makes several edits at once, at first without a stored plan: the store must keep
// every change.
func TestEditsMeet(t *testing.T) {
	r := newRealm(t)
	const editors = 6
	var wg sync.WaitGroup
	for i := range editors {
		wg.Go(func() {
			if err := steering.Edit(t.Context(), r.maps, group, pin(fmt.Sprintf("e%d", i), "blue")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	stored, err := steering.Load(t.Context(), r.maps, group)
	if err != nil || stored.Mistakes != nil || len(stored.Plan.Pins) != editors {
		t.Errorf("stored %+v, %v", stored, err)
	}
	cm, err := r.maps.Get(t.Context(), object, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if cm.Labels["primacy.dev/group"] != group || cm.Labels["app.kubernetes.io/managed-by"] != "primacy" {
		t.Errorf("labels %v", cm.Labels)
	}
}

// TestReplaceIsConditional checks that Replace replaces only the very plan that was read.
func TestReplaceIsConditional(t *testing.T) {
	r := newRealm(t)
	read := func() steering.Stored {
		t.Helper()
		s, err := steering.Load(t.Context(), r.maps, group)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	with := func(p rollout.Plan) rollout.Plan {
		p.Pins = []rollout.Pin{{Election: "a", Revision: "red"}}
		return p
	}
	absent := read()
	r.edit(t, pin("b", "blue"))
	if err := absent.Replace(t.Context(), r.maps, with(absent.Plan)); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created beside another: %v", err)
	}
	older := read()
	r.edit(t, pin("c", "blue"))
	if err := older.Replace(t.Context(), r.maps, with(older.Plan)); !apierrors.IsConflict(err) {
		t.Errorf("a later one was written over: %v", err)
	}
	gone := read()
	if err := r.maps.Delete(t.Context(), object, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := gone.Replace(t.Context(), r.maps, with(gone.Plan)); !apierrors.IsNotFound(err) {
		t.Errorf("one that was deleted was written: %v", err)
	}
	r.edit(t, pin("d", "blue"))
	if err := gone.Replace(t.Context(), r.maps, with(gone.Plan)); !apierrors.IsConflict(err) {
		t.Errorf("another object of the same name was written over: %v", err)
	}
}

// TestEditLeavesTheRestAlone checks that an edit changes nothing else, and that unreadable texts stay
// as they are.
func TestEditLeavesTheRestAlone(t *testing.T) {
	r := newRealm(t)
	data := map[string]string{
		rollout.KeyPins: "{ broken", "note": "of an operator",
		rollout.KeyRollout: `# by hand
uid: 0123456789abcdef
generation: 1
stable: blue
canary: green
startedAt: 2026-11-20T08:58:30Z
acquireTimeout: 1m
steps: [{setWeight: 100}]
`,
		rollout.KeyStatus: "phase: Invented\n", rollout.KeyHistory: "[",
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: object, Labels: map[string]string{"theirs": "x"}}, Data: data}
	if _, err := r.maps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := steering.Edit(t.Context(), r.maps, group, pin("a", "red")); err == nil || !strings.Contains(err.Error(), "what is stored cannot be read") {
		t.Errorf("pinned though the pins are unreadable: %v", err)
	}
	r.edit(t, func(p *rollout.Plan) (err error) {
		*p, err = p.Abort()
		return err
	})
	got, err := r.maps.Get(t.Context(), object, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{rollout.KeyPins, rollout.KeyStatus, rollout.KeyHistory, "note"} {
		if got.Data[key] != data[key] {
			t.Errorf("%s is %q, was %q", key, got.Data[key], data[key])
		}
	}
	if !strings.Contains(got.Data[rollout.KeyRollout], "abort: true") || got.Labels["theirs"] != "x" {
		t.Errorf("stored %+v", got)
	}
	r.edit(t, func(p *rollout.Plan) (err error) {
		*p, err = p.Retry()
		return err
	})
	if got, err = r.maps.Get(t.Context(), object, metav1.GetOptions{}); err != nil || got.Data[rollout.KeyStatus] != "" || got.Data[rollout.KeyPins] == "" {
		t.Errorf("after a retry: %v, %v", got, err)
	}
	r.write(t, map[string]string{rollout.KeyPins: "# mine\n- {election: a, revision: red}\n", rollout.KeyHistory: ""})
	version := func() string {
		cm, err := r.maps.Get(t.Context(), object, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cm.ResourceVersion
	}
	before := version()
	r.edit(t, func(*rollout.Plan) error { return nil })
	if version() != before {
		t.Error("nothing changed, yet it was written")
	}
	r.edit(t, func(p *rollout.Plan) (err error) {
		*p, err = p.Abort()
		return err
	})
	if got, err = r.maps.Get(t.Context(), object, metav1.GetOptions{}); err != nil || !strings.HasPrefix(got.Data[rollout.KeyPins], "# mine") {
		t.Errorf("text that still says what it did was written anew: %v, %v", got, err)
	}
}

// TestEditRefused checks that a refused edit writes nothing, and that an edit in a missing namespace
// returns that error.
func TestEditRefused(t *testing.T) {
	r := newRealm(t)
	planted := errors.New("planted")
	if err := steering.Edit(t.Context(), r.maps, group, func(*rollout.Plan) error { return planted }); !errors.Is(err, planted) {
		t.Errorf("edit returned %v", err)
	}
	elsewhere := coreOf(t, rest.CopyConfig(r.config)).ConfigMaps(r.namespace + "-not-there")
	if err := steering.Edit(t.Context(), elsewhere, group, pin("a", "blue")); !apierrors.IsNotFound(err) {
		t.Errorf("edit returned %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := steering.Edit(ended, r.maps, group, pin("a", "blue")); !errors.Is(err, context.Canceled) {
		t.Errorf("edit returned %v", err)
	}
	if _, err := r.maps.Get(t.Context(), object, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("something was written: %v", err)
	}
}

// loses loses the answers to writes.
type loses struct{ http.RoundTripper }

func (l loses) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err != nil || r.Method == http.MethodGet {
		return answer, err
	}
	_ = answer.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

// TestAnEditWhoseAnswerIsLost checks that people learn of an edit that may be stored, and that what the server refused is not called so.
func TestAnEditWhoseAnswerIsLost(t *testing.T) {
	const may = "it may be stored nevertheless"
	r := newRealm(t)
	lossy := rest.CopyConfig(r.config)
	lossy.Wrap(func(rt http.RoundTripper) http.RoundTripper { return loses{rt} })
	core := coreOf(t, lossy)
	for _, pinned := range []string{"a", "b"} { // the first creates the object
		err := steering.Edit(t.Context(), core.ConfigMaps(r.namespace), group, pin(pinned, "blue"))
		if err == nil || !strings.Contains(err.Error(), may) {
			t.Errorf("edit returned %v", err)
		}
	}
	if s, err := steering.Load(t.Context(), r.maps, group); err != nil || len(s.Plan.Pins) != 2 {
		t.Errorf("stored %+v, %v", s.Plan, err)
	}
	err := steering.Edit(t.Context(), coreOf(t, rest.CopyConfig(r.config)).ConfigMaps(r.namespace+"-not-there"), group, pin("a", "blue"))
	if err == nil || strings.Contains(err.Error(), may) {
		t.Errorf("edit returned %v", err)
	}
}
