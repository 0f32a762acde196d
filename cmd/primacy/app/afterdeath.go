package app

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
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
		return newLogger(d.Note(noteLogLevel), d.Note(noteLogFormat))
	},
}
