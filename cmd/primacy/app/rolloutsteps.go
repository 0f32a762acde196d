package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// stepFlags are the flags for the steps of a rollout: a file, or weights with pauses between them.
type stepFlags struct {
	file    string
	weights string
	pause   time.Duration
	flags   *pflag.FlagSet
}

func addSteps(flags *pflag.FlagSet) *stepFlags {
	s := &stepFlags{flags: flags}
	flags.StringVar(&s.file, "steps", "", "file with the steps, in YAML; - is standard input")
	flags.StringVar(&s.weights, "weights", "", "per cent of the elections, step by step, such as 10,50,100")
	flags.DurationVar(&s.pause, "pause", 0, "with --weights: how long to wait between two of them; 0s until promoted (default: not at all)")
	return s
}

// stepsFile is the schema of a file with steps.
type stepsFile struct {
	Steps               []rollout.Step     `yaml:"steps" strict:"required"`
	OnFailure           rollout.OnFailure  `yaml:"onFailure"`
	AcquireTimeout      time.Duration      `yaml:"acquireTimeout"`
	MaxConcurrentMoves  int                `yaml:"maxConcurrentMoves"`
	WhenPreferredAbsent rollout.WhenAbsent `yaml:"whenPreferredAbsent"`
	FailureLimit        int                `yaml:"failureLimit"`
	Checks              []string           `yaml:"checks"`
}

// into puts the steps, and the other flags, into a spec.
func (s *stepFlags) into(spec *rollout.Spec, stdin io.Reader) error {
	pauses := s.flags.Changed("pause")
	switch {
	case s.file != "" && s.weights != "":
		return &usageError{errors.New("--steps and --weights: give one of the two")}
	case pauses && s.weights == "":
		return &usageError{errors.New("--pause goes with --weights (a file says pause as a step)")}
	case s.pause < 0:
		return &usageError{fmt.Errorf("--pause %v (it must be 0s or more)", s.pause)}
	case s.file != "":
		return stepsFrom(s.file, stdin, spec)
	case s.weights == "":
		return &usageError{errors.New("no steps (give --weights, such as --weights 10,50,100 --pause 5m, or --steps FILE)")}
	}
	before := 0
	for i, text := range strings.Split(s.weights, ",") {
		weight, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), "%"))
		if err != nil || weight < 1 || weight > 100 {
			return &usageError{fmt.Errorf("--weights: %q is not between 1 and 100 (such as 10,50,100)", text)}
		}
		if weight < before {
			return &usageError{fmt.Errorf("--weights %s: %d is less than the weight before, %d (weights only grow, such as 10,50,100)", s.weights, weight, before)}
		}
		before = weight
		if i > 0 && pauses {
			spec.Steps = append(spec.Steps, rollout.Step{Pause: &rollout.Pause{Duration: s.pause}})
		}
		spec.Steps = append(spec.Steps, rollout.Step{SetWeight: weight})
	}
	if last := spec.Steps[len(spec.Steps)-1].SetWeight; last != 100 {
		return &usageError{fmt.Errorf("--weights %s: the last weight is %d, and every rollout ends with 100 (such as 10,50,100)", s.weights, last)}
	}
	return nil
}

// stepsFrom reads a file. Mistakes are strict.Errors, with their places.
func stepsFrom(file string, stdin io.Reader, spec *rollout.Spec) error {
	name, data, err := file, []byte(nil), error(nil)
	if file == "-" {
		name = "standard input"
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(file) // #nosec G304 -- the operator names it
	}
	if err != nil {
		return hintMissing(fmt.Errorf("read steps: %w", err), "--steps")
	}
	root, err := strict.Document(data)
	if err != nil {
		return strict.Rebase(err, name, "", nil)
	}
	var f stepsFile
	if err := strict.Decode(root, &f); err != nil {
		return strict.Rebase(err, name, "", nil)
	}
	spec.Steps, spec.OnFailure, spec.AcquireTimeout, spec.MaxConcurrentMoves = f.Steps, f.OnFailure, f.AcquireTimeout, f.MaxConcurrentMoves
	spec.WhenPreferredAbsent, spec.FailureLimit, spec.Checks = f.WhenPreferredAbsent, f.FailureLimit, f.Checks
	return placed(spec.WithDefaults().Steps, *spec, name, root)
}

// placed reports mistakes in steps, with their places in the file.
func placed(steps []rollout.Step, spec rollout.Spec, name string, root *yaml.Node) error {
	trial := spec.WithDefaults()
	// These fields are not in the file: fill them in, so that only the steps can fail.
	trial.UID, trial.Generation, trial.Stable, trial.Canary = "0000000000000000", 1, "a", "b"
	trial.Steps, trial.StartedAt = steps, rollout.At(time.Unix(1, 0))
	if trial.AcquireTimeout == 0 {
		trial.AcquireTimeout = time.Second
	}
	var errs strict.Errors
	if err := trial.Validate(); !errors.As(err, &errs) {
		return err
	}
	for _, e := range errs {
		e.File = name
		if at, _ := strict.Lookup(root, e.Field); at != nil {
			e.Line, e.Column = at.Line, at.Column
		}
	}
	return errs
}
