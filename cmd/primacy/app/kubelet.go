package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/kubelet"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
)

// containerPatience is for how long the start of a member waits until its kubelet has published its container.
const containerPatience = 10 * time.Second

// hearing is what this member needs for words on containers and nodes: its own container, on which others hear such
// words, and the listeners that hear them on other members.
type hearing struct {
	// words are the words that end this member's session.
	words []election.Proof
	self  kubelet.Self
	// listeners run for as long as the member does.
	listeners []listener
}

type listener interface{ Run(context.Context) }

// announce is that of election.Config; nil if no kubelet can tell of this member.
func (h *hearing) announce() func(string) error {
	if h == nil || !slices.Contains(h.words, election.ProofKubelet) {
		return nil
	}
	return h.self.Announce
}

// byPlace are the words that speak of a member by its container or node.
var byPlace = []election.Proof{election.ProofKubelet, election.ProofOutOfService}

// withoutPlace are the words that need no place.
func withoutPlace(words []election.Proof) []election.Proof {
	return slices.DeleteFunc(slices.Clone(words), func(w election.Proof) bool { return slices.Contains(byPlace, w) })
}

// newHearing finds the container and the node of this member, if its configuration allows words on these. If it cannot, it
// logs why, and the member goes on without these words.
func newHearing(ctx context.Context, p *config.Process, c *cluster, name string, sessions lock.Store, log *zap.Logger) (*hearing, error) {
	h := &hearing{words: p.Configuration.Member.Proofs}
	if len(withoutPlace(h.words)) == len(h.words) {
		return h, nil
	}
	core, err := apiserver.ClientFor(c.config, coreclient.NewForConfigAndClient)
	if err != nil {
		return nil, fmt.Errorf("client for pods: %w", err)
	}
	here, err := kubelet.Here(os.Getenv)
	if slices.Contains(h.words, election.ProofKubelet) && err == nil {
		h.listeners = append(h.listeners, &kubelet.Listener{
			Pods: core.Pods(here.Namespace), Sessions: sessions, Group: p.Group, Name: name, Clock: clock.Boottime(), Log: log,
		})
	}
	if slices.Contains(h.words, election.ProofOutOfService) {
		h.listeners = append(h.listeners, &kubelet.NodeListener{
			Nodes: core.Nodes(), Sessions: sessions, Group: p.Group, Name: name, Clock: clock.Boottime(), Log: log,
		})
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, min(containerPatience, patience))
		defer cancel()
		h.self, err = kubelet.Find(ctx, core, here)
	}
	if err != nil {
		h.words = withoutPlace(h.words)
		log.Warn("no kubelet can tell of this member's death: if its container ends, others wait for a leaseDuration (docs/death.md says what is needed)", zap.Error(err))
		return h, nil
	}
	log.Info("this member's container is known to the others", zap.String("container", h.self.Container.ID), zap.String("node", h.self.Container.Node))
	return h, nil
}
