package member

import (
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// troubles logs failures: once for each operation and kind of error, however many objects fail, and once
// more when all of them have recovered.
type troubles struct {
	log logger
	of  map[string]*trouble // by operation
}

// trouble records the failures of one operation.
type trouble struct {
	// failing are the objects that fail now, concerned all that have failed since the trouble began.
	failing, concerned map[lockName]bool
	told               map[string]bool // kinds of errors
	// summary is the number of objects at which we log a summary.
	summary int
}

// firstSummary is the number of objects for the first summary; each later one takes ten times as many.
const firstSummary = 10

// note records how an operation on an object went.
func (t *troubles) note(what string, object lockName, err error) {
	is := t.of[what]
	if err == nil {
		if is == nil || !is.failing[object] {
			return
		}
		delete(is.failing, object)
		if len(is.failing) == 0 {
			delete(t.of, what)
			t.log.Info("recovered", zap.String("operation", what), zap.String("object", object.name), zap.Int("objects", len(is.concerned)))
		}
		return
	}
	if is == nil {
		if t.of == nil {
			t.of = map[string]*trouble{}
		}
		is = &trouble{failing: map[lockName]bool{}, concerned: map[lockName]bool{}, told: map[string]bool{}, summary: firstSummary}
		t.of[what] = is
	}
	is.failing[object], is.concerned[object] = true, true
	if kind := lock.Kind(err); !is.told[kind] {
		is.told[kind] = true
		t.log.Warn("failing; retrying", zap.String("operation", what), zap.String("object", object.name), zap.Error(err))
	}
	if len(is.concerned) >= is.summary {
		is.summary *= 10
		t.log.Warn("failing for many objects; retrying", zap.String("operation", what), zap.Int("objects", len(is.concerned)))
	}
}

// forget drops an object that we no longer read or write.
func (t *troubles) forget(object lockName) {
	for what, is := range t.of {
		delete(is.failing, object)
		if len(is.failing) == 0 {
			delete(t.of, what)
		}
	}
}
