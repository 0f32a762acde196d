package app

import (
	"fmt"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
	"github.com/primacy-dev/primacy/pkg/runners/parent/burial"
)

// What a member notes for its parent.
const (
	noteKubeconfig = "kubeconfig"
	noteContext    = "context"
	noteNamespace  = "namespace"
	noteLogLevel   = "logLevel"
	noteLogFormat  = "logFormat"
)

// notesOf are the notes of a member with these settings and in this cluster.
func notesOf(p *config.Process, c *cluster) map[string]string {
	return map[string]string{
		noteKubeconfig: p.Kubeconfig, noteContext: c.context, noteNamespace: c.namespace,
		noteLogLevel: p.LogLevel, noteLogFormat: p.LogFormat,
	}
}

// clusterNoted is the cluster of a member with these notes, whatever the kubeconfig's current context is by now.
func clusterNoted(note func(name string) string) (*cluster, error) {
	c, err := findContext(note(noteKubeconfig), note(noteContext))
	if err != nil {
		return nil, fmt.Errorf("find the dead member's cluster again: %w", err)
	}
	return c, nil
}

// afterDeath is how the parent of a dead member finds the member's session, and where it logs.
var afterDeath = burial.Plan{
	Sessions: func(d *parent.Dead) (lock.Store, error) {
		cluster, err := clusterNoted(d.Note)
		if err != nil {
			return nil, err
		}
		client, err := lease.NewClient(cluster.config)
		if err != nil {
			return nil, err
		}
		return lease.In(client, d.Note(noteNamespace)), nil
	},
	Log: func(d *parent.Dead) *zap.Logger {
		return newLoggerTo(&impatient{to: os.Stderr}, d.Note(noteLogLevel), d.Note(noteLogFormat))
	},
}

// impatient writes what is taken within logPatience, and nothing after something that was not: a log that nobody reads must not keep
// a parent from ending as its member did. Whoever uses it locks it.
type impatient struct {
	to     zapcore.WriteSyncer
	gaveUp bool
}

// logPatience is how long a parent waits for each of its lines to be taken.
const logPatience = time.Second

func (w *impatient) Write(line []byte) (int, error) {
	if w.gaveUp {
		return len(line), nil
	}
	kept, wrote := slices.Clone(line), make(chan error, 1)
	go func() { // ends once the line is taken, at the latest with this process
		_, err := w.to.Write(kept)
		wrote <- err
	}()
	late := clock.NewTimer(logPatience)
	defer late.Stop()
	select {
	case err := <-wrote:
		return len(line), err
	case <-late.C:
		w.gaveUp = true
		return len(line), nil
	}
}

// Sync does nothing: lines are written at once.
func (*impatient) Sync() error { return nil }
