package app

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/podlabel"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// labelled are the elections of which the leader's Pod has a label. Its methods may be called from any goroutine.
type labelled struct {
	mu    sync.Mutex
	names map[string]bool
	// had: there were some.
	had bool
	// changed is called when names may have changed; nil for nobody.
	changed func()
}

func newLabelled() *labelled { return &labelled{} }

// set replaces the elections with those of a plan.
func (l *labelled) set(p *plan) {
	names := map[string]bool{}
	for _, e := range p.elections {
		if e.labelled {
			names[e.spec.Name] = true
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = names
	l.tellLocked()
}

// follow makes changed be called now, if there are such elections, and whenever they may have changed.
func (l *labelled) follow(changed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
	l.tellLocked()
}

func (l *labelled) tellLocked() {
	if l.changed != nil && (len(l.names) > 0 || l.had) {
		l.changed()
	}
	l.had = len(l.names) > 0
}

// wish is what the labels of this member's Pod should say now.
func (l *labelled) wish(m *election.Manager) podlabel.Wish {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := podlabel.Wish{Asked: len(l.names) > 0, Leads: map[string]record.Token{}}
	if !w.Asked {
		return w
	}
	for _, s := range m.Statuses() {
		if role, _, _ := s.Role(); role == election.Leading && l.names[s.Election()] {
			w.Leads[s.Election()] = s.Token()
		}
	}
	return w
}

// label labels this member's Pod, as the environment names it, until the manager's Run has returned; the caller calls end after
// that.
func (m *member) label(getenv func(string) string) (end func()) {
	pod, uid, namespace := getenv("POD_NAME"), getenv("POD_UID"), getenv("POD_NAMESPACE")
	if m.pods == nil {
		return func() {}
	}
	if pod == "" || uid == "" || namespace == "" {
		m.labels.follow(sync.OnceFunc(func() {
			m.log.Warn("an election has leaderLabel, and it is not known in which Pod this member is, so no Service follows it (set POD_NAME, POD_UID and POD_NAMESPACE, as manifests/deployment.yaml does)")
		}))
		return func() {}
	}
	l := podlabel.New(podlabel.Config{
		Pods: m.pods, Namespace: namespace, Pod: pod, UID: types.UID(uid), Group: m.process.Group, Clock: m.clock, Log: m.log,
		Wish: func() podlabel.Wish { return m.labels.wish(m.manager) }, Told: m.labels.wish(m.manager).Asked, // the start has asked for the rights
	})
	m.labels.follow(l.Changed)
	writing, stop := context.WithCancel(context.Background())
	transitions := m.manager.Watch(context.Background()) // closed when Run returns
	done := make(chan struct{})
	go func() { // joined by end
		defer close(done)
		l.Run(writing, transitions)
	}()
	return func() {
		late := clock.AfterFunc(lastEvents, stop)
		<-done
		late.Stop()
		stop()
	}
}
