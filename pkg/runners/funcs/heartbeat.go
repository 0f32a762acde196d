package funcs

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// HeartbeatName is the name under which Heartbeat is usually registered.
const HeartbeatName = "demo.heartbeat"

// Heartbeat is a function to try elections with: during a term it logs a line at once and then
// one every `interval`, 5 s by default.
func Heartbeat(params *yaml.Node, env runners.Env) (election.Runner, error) {
	p := struct {
		Interval time.Duration `yaml:"interval"`
	}{Interval: 5 * time.Second}
	if err := strict.Decode(params, &p); err != nil {
		return nil, err
	}
	if p.Interval <= 0 {
		at, _ := strict.Lookup(params, "interval")
		return nil, strict.NewError(at, "interval", fmt.Sprintf("%v must be more than 0", p.Interval), "such as 5s")
	}
	return election.RunnerFunc(func(ctx context.Context, term election.Term) error {
		log := runners.Log(env.Log, term, env.Runner)
		for n := 1; ; n++ {
			log.Info("heartbeat", zap.Int("beat", n))
			if !clock.Wait(ctx, p.Interval) {
				return nil
			}
		}
	}), nil
}
