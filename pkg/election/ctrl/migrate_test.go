package ctrl_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
)

// move is a rolling update in the making.
type move struct {
	*testing.T

	cluster   *devcluster.Cluster
	namespace string
	core      coreclient.CoreV1Interface
	diary     *diary
	lives     map[string]*process
}

func newMove(t *testing.T) *move {
	t.Helper()
	m := &move{T: t, cluster: devcluster.New(t), diary: newDiary(), lives: map[string]*process{}}
	m.namespace = m.cluster.Namespace(t)
	newThings(t, m.cluster.Config, m.namespace)
	var err error
	if m.core, err = coreclient.NewForConfig(m.cluster.Config); err != nil {
		t.Fatal(err)
	}
	m.prefer("v1")
	return m
}

func (m *move) prefer(revision string) {
	m.Helper()
	if err := configmap.Set(m.Context(), m.core, preferred(m.namespace), revision); err != nil {
		m.Fatal(err)
	}
}

func (m *move) start(name, revision, stage string) {
	m.Helper()
	p := launchAt(m.T, m.cluster, m.diary, m.namespace, name, revision, stage)
	m.lives[name] = p
	if stage != elects {
		await(m.T, soon(m.T), p.joined, name+" among the members")
	}
}

// end ends a process, and returns how many terms it had given up by itself.
func (m *move) end(name string, by syscall.Signal) (givenUp int) {
	m.Helper()
	p := m.lives[name]
	if p == nil {
		m.Fatalf("%s does not live", name)
	}
	delete(m.lives, name)
	_ = p.cmd.Process.Signal(by) // one that lost its own election has ended
	await(m.T, soon(m.T), p.ended, "end of "+name)
	return p.givenUp
}

// works waits until one of the named processes does all the work alone.
func (m *move) works(names ...string) {
	m.Helper()
	begun := time.Now()
	for ctx := soon(m.T); ; {
		who, news := m.diary.at()
		if slices.Contains(names, who) {
			m.Logf("%s works after %.1f s", who, time.Since(begun).Seconds())
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			m.Fatalf("none of %q does all the work: %q does", names, who)
		}
	}
}

// TestMigration comes from managers that elect by themselves and goes back, process by process. Some are killed.
func TestMigration(t *testing.T) {
	m := newMove(t)
	m.start("old-1", "v1", elects)
	m.works("old-1")
	m.start("old-2", "v1", elects)
	m.start("both-1", "v1", migrates)
	m.end("old-1", syscall.SIGTERM)
	m.works("old-2", "both-1")
	m.start("both-2", "v1", migrates)
	m.end("old-2", syscall.SIGTERM)
	m.works("both-1", "both-2")
	first, _ := m.diary.at()
	m.end(first, syscall.SIGKILL)
	m.works("both-1", "both-2")
	m.start("both-3", "v2", migrates)
	m.prefer("v2")
	m.works("both-3")
	m.prefer("v1")
	m.works("both-1", "both-2")
	m.prefer("v2")
	m.works("both-3")
	for _, name := range []string{"both-1", "both-2"} {
		if name != first {
			m.end(name, syscall.SIGTERM)
		}
	}

	m.start("new-1", "v1", moved)
	m.works("both-3")
	m.end("both-3", syscall.SIGTERM)
	m.works("new-1")

	m.start("both-4", "v1", migrates)
	m.works("new-1")
	m.end("new-1", syscall.SIGTERM)
	m.works("both-4")
	m.start("old-3", "v1", elects)
	m.works("both-4")
	m.end("both-4", syscall.SIGTERM)
	m.works("old-3")
	m.end("old-3", syscall.SIGTERM)
	m.diary.judge(t, 9)
}

// TestMovesBackAndForth checks that moves are no failures of the controllers, after which a process would wait longer each time.
func TestMovesBackAndForth(t *testing.T) {
	m := newMove(t)
	m.start("both-1", "v1", migrates)
	m.works("both-1")
	m.start("both-2", "v2", migrates)
	for range 5 {
		m.prefer("v2")
		m.works("both-2")
		m.prefer("v1")
		m.works("both-1")
	}
	// A machine that stands still for seconds may cost a few.
	if n := m.end("both-1", syscall.SIGTERM) + m.end("both-2", syscall.SIGTERM); n > len(kinds) {
		t.Errorf("%d terms were given up in ten moves of %d controllers", n, len(kinds))
	}
	m.diary.judge(t, 11)
}

// TestOverlapIsSeen shows the judge of TestMigration what happens without MigrateFrom.
func TestOverlapIsSeen(t *testing.T) {
	m := newMove(t)
	m.start("old", "v1", elects)
	m.works("old")
	m.start("new", "v1", moved)
	m.lives["new"].awaitAll(t, "begin")
	m.end("old", syscall.SIGTERM)
	m.end("new", syscall.SIGTERM)
	if len(m.diary.overlaps()) == 0 {
		t.Error("two were at work, and the judge did not see it")
	}
}
