package revisions

import (
	"strings"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Keeper is the part that sources share: it delivers new values. While there is no usable value, it
// keeps the last one and logs that once. It belongs to the goroutine that watches.
type Keeper struct {
	Deliver func(election.Preference)
	Log     *zap.Logger
	// Gauge records how fresh the value is; nil for none.
	Gauge *Gauge
	// Place names where the value comes from, for people: "the ConfigMap".
	Place string

	// last is the last delivered value; zero before the first.
	last record.Preferred
	// silence is the logged reason why the source cannot be read; empty while it can.
	silence string
	// refused is the logged value that is no valid revision; empty while the value is valid.
	refused string
}

// Says delivers a value that the source read, if it is new and valid. It trims white space; an empty
// value means that no revision is preferred.
func (k *Keeper) Says(value string) {
	value = strings.TrimSpace(value)
	if value != "" {
		if err := Check(value); err != nil {
			k.Gauge.Kept(ContentRefused)
			if value != k.refused {
				k.refused = value
				k.Log.Warn("the source's value is not a valid revision; keeping the last one until "+k.Place+" is corrected",
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

// Unreadable logs why the source cannot be read. It logs once for each kind of reason, since the
// texts of network errors differ each time.
func (k *Keeper) Unreadable(kind string, err error) {
	k.Gauge.Kept(NotReadable)
	kind = "reason: " + kind
	if kind == k.silence {
		return
	}
	k.silence = kind
	k.Log.Warn("cannot read the preferred revision; keeping the last one, and retrying",
		zap.String("last", k.lastSaid()), zap.Error(err))
}

// Readable records that the source can be read, and logs that if it could not be read before.
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
