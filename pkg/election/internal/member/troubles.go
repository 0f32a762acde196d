package member

import (
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// troubles logs failures: once for each operation and kind of error, however many objects fail, and once
// more when all of them have recovered.
type troubles struct {
	log logger
	of  map[operation]*trouble
}

// operation is what can fail. The watch of each store is an operation of its own, and so is a list beside it. All other operations have the zero
// store: one entry covers all objects, in all stores.
type operation struct {
	what  string
	store Store
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
	t.noteOf(operation{what: what}, object, err)
}

// noteWatch records how the watch of a store went.
func (t *troubles) noteWatch(store Store, err error) {
	t.noteOf(operation{"watch", store}, lockName{store: store}, err)
}

// noteList records how a list went that we asked for while the watch of the store went on.
func (t *troubles) noteList(store Store, err error) {
	t.noteOf(operation{"list anew", store}, lockName{store: store}, err)
}

func (t *troubles) noteOf(of operation, object lockName, err error) {
	is := t.of[of]
	if err == nil {
		if is == nil || !is.failing[object] {
			return
		}
		delete(is.failing, object)
		if len(is.failing) == 0 {
			delete(t.of, of)
			t.logOf(of).Info("recovered", zap.String("object", object.name), zap.Int("objects", len(is.concerned)))
		}
		return
	}
	if is == nil {
		if t.of == nil {
			t.of = map[operation]*trouble{}
		}
		is = &trouble{failing: map[lockName]bool{}, concerned: map[lockName]bool{}, told: map[string]bool{}, summary: firstSummary}
		t.of[of] = is
	}
	is.failing[object], is.concerned[object] = true, true
	if kind := lock.Kind(err); !is.told[kind] {
		is.told[kind] = true
		t.logOf(of).Warn("failing; retrying", zap.String("object", object.name), zap.Error(err))
	}
	if len(is.concerned) >= is.summary {
		is.summary *= 10
		t.logOf(of).Warn("failing for many objects; retrying", zap.Int("objects", len(is.concerned)))
	}
}

// logOf returns the log with the fields that tell a person which operation it is.
func (t *troubles) logOf(of operation) logger {
	log := t.log.With(zap.String("operation", of.what))
	if of.store.Place != "" {
		log = log.With(zap.String("namespace", of.store.Place))
	}
	return log
}

// failing are the objects for which the operation fails now, sorted by name.
func (t *troubles) failing(what string) []lockName {
	is := t.of[operation{what: what}]
	if is == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(is.failing), func(a, b lockName) int { return strings.Compare(a.name, b.name) })
}

// forget drops an object that we no longer read or write.
func (t *troubles) forget(object lockName) {
	for of, is := range t.of {
		delete(is.failing, object)
		if len(is.failing) == 0 {
			delete(t.of, of)
		}
	}
}
