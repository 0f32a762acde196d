package revisions

import (
	"strings"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Keeper is what sources have in common: it delivers what is new, keeps the last value
// while there is no good one, and logs that once. It belongs to the goroutine that watches.
type Keeper struct {
	Deliver func(election.Preference)
	Log     *zap.Logger
	// Gauge is told how fresh the value is; nil for nobody.
	Gauge *Gauge
	// Place is where the value stands, for people: "the ConfigMap".
	Place string

	// last is what was delivered last; zero before that.
	last record.Preferred
	// silence is why nothing can be read, as it was logged; empty while all is well.
	silence string
	// refused is the value that was logged as no revision; empty while it is one.
	refused string
}

// Says takes in the value that was read. White space around it is no part of it, and empty
// means that no revision is preferred.
func (k *Keeper) Says(value string) {
	value = strings.TrimSpace(value)
	if value != "" {
		if err := Check(value); err != nil {
			k.Gauge.Kept(ContentRefused)
			if value != k.refused {
				k.refused = value
				k.Log.Warn("preferred revision is none that a member can have; the last one stays until "+k.Place+" is corrected",
					zap.String("last", k.lastSaid()), zap.Error(err))
			}
			return
		}
	}
	k.refused = ""
	k.Gauge.Says()
	if p := record.Prefer(value); p != k.last {
		k.last = p
		k.Deliver(p)
	}
}

// Unreadable logs why nothing can be read, once for each kind of reason: the texts of
// network errors differ from one to the next.
func (k *Keeper) Unreadable(kind string, err error) {
	k.Gauge.Kept(NotReadable)
	kind = "reason: " + kind
	if kind == k.silence {
		return
	}
	k.silence = kind
	k.Log.Warn("preferred revision cannot be read; the last one stays, and it is tried again",
		zap.String("last", k.lastSaid()), zap.Error(err))
}

// Readable ends what Unreadable began.
func (k *Keeper) Readable() {
	age := k.Gauge.Freshness().Age
	k.Gauge.Followed()
	if k.silence != "" {
		k.silence = ""
		k.Log.Info("preferred revision can be read again", zap.Duration("age", age))
	}
}

func (k *Keeper) lastSaid() string {
	if k.last.State == 0 {
		return "none, so nothing moves"
	}
	return k.last.String()
}
