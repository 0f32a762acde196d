package rollout

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Read makes a plan of the ConfigMap's data. For a key that it cannot read it keeps last's value. If
// the status is gone but its rollout is still there, it keeps last's status. The error, a
// strict.Errors whose File is the key, says what is wrong. The plan is usable in any case: see
// Plan.Unreadable.
func Read(data map[string]string, last Plan) (Plan, error) {
	p := Plan{read: true}
	var errs strict.Errors
	refused := func(key string, err error) bool {
		var more strict.Errors
		if err == nil || !errors.As(strict.Rebase(err, key, "", nil), &more) {
			return false
		}
		errs = append(errs, more...)
		return true
	}
	kept := func(key string) {
		if !last.read || last.unreadable(key) {
			p.Unreadable = append(p.Unreadable, key)
		}
	}

	pins := pinsDoc{}
	if refused(KeyPins, decode(data, KeyPins, &pins)) {
		pins.Pins = last.Pins
		kept(KeyPins)
	}
	p.Pins = pins.Pins

	p.Drained = read(data, KeyDrained, last.Drained, checkDrained, refused, kept)
	p.Standstill = read(data, KeyPaused, last.Standstill, checkStandstill, refused, kept)
	p.Handovers = read(data, KeyHandovers, last.Handovers, checkHandovers, refused, kept)

	spec := specDoc{Spec: Spec{}.WithDefaults()}
	switch {
	case refused(KeyRollout, decode(data, KeyRollout, &spec)):
		p.Rollout = last.Rollout
		kept(KeyRollout)
	case spec.given:
		p.Rollout = &spec.Spec
	}

	status := statusDoc{}
	broken := refused(KeyStatus, decode(data, KeyStatus, &status))
	if status.given && !broken {
		p.Status = &status.Status
	}
	if known := last.Status.Of(p.Rollout); broken || p.Status == nil && known {
		if known {
			p.Status = last.Status
		} else {
			p.Unreadable = append(p.Unreadable, KeyStatus)
		}
		if !broken {
			errs = append(errs, &strict.Error{File: KeyStatus, Problem: "is gone, though the rollout is not", Hint: "its controller writes it again"})
		}
	}

	history := historyDoc{}
	if refused(KeyHistory, decode(data, KeyHistory, &history)) {
		history.History = last.History // no preference depends on it
	}
	p.History = history.History
	return p, errs.OrNil()
}

// Encode returns the ConfigMap's data, without empty keys. It refuses what Read would refuse.
func (p Plan) Encode() (map[string]string, error) {
	data := map[string]string{}
	put := func(key string, value any) {
		text, err := yaml.Marshal(value)
		if err != nil {
			panic(fmt.Sprintf("rollout: encode %s: %v", key, err)) // plain data always encodes
		}
		data[key] = string(text)
	}
	if len(p.Pins) > 0 {
		pins := slices.Clone(p.Pins)
		for i := range pins {
			pins[i].By = clean(pins[i].By)
		}
		put(KeyPins, pins)
	}
	p.putAsked(put)
	if p.Rollout != nil {
		spec := *p.Rollout
		spec.By = clean(spec.By)
		put(KeyRollout, spec)
	}
	if p.Status != nil {
		put(KeyStatus, p.Status.Sealed())
	}
	if len(p.History) > 0 {
		history := slices.Clone(p.History)
		for i := range history {
			history[i].By = clean(history[i].By)
		}
		put(KeyHistory, history)
	}
	if _, err := Read(data, Plan{}); err != nil {
		return nil, fmt.Errorf("refuse to write a plan: %w", err)
	}
	return data, nil
}

// Sealed returns the status as it is stored: texts cut, checksum set.
func (s Status) Sealed() Status {
	s = s.clone()
	s.Message = clean(s.Message)
	for i := range s.Failures {
		s.Failures[i].What = clean(s.Failures[i].What)
	}
	s.Checksum = s.Sum()
	return s
}

// maxText bounds texts for people, in runes.
const maxText = 300

// clean makes a text fit to be stored.
func clean(s string) string { return strict.Text(s, maxText) }

// Documents implement strict.Decoder, so that the check of a whole document can name the places of
// its fields.
type (
	pinsDoc    struct{ Pins []Pin }
	historyDoc struct{ History []Ended }
	specDoc    struct {
		Spec
		given bool
	}
	statusDoc struct {
		Status
		given bool
	}
)

func (d *pinsDoc) DecodeStrict(node *yaml.Node) error {
	d.Pins = nil
	return decodeChecked(node, &d.Pins, func() strict.Errors { return checkPins(d.Pins) })
}

func (d *historyDoc) DecodeStrict(node *yaml.Node) error {
	d.History = nil
	return decodeChecked(node, &d.History, func() strict.Errors { return checkHistory(d.History) })
}

func (d *specDoc) DecodeStrict(node *yaml.Node) error {
	d.given = true
	return decodeChecked(node, &d.Spec, d.Spec.mistakes)
}

func (d *statusDoc) DecodeStrict(node *yaml.Node) error {
	d.given = true
	return decodeChecked(node, &d.Status, d.Status.mistakes)
}

// read reads the document of an operator's word. If it is refused, read returns the last good one.
func read[T any](data map[string]string, key string, last T, check func(T) strict.Errors, refused func(string, error) bool, kept func(string)) T {
	d := checkedDoc[T]{check: check}
	if refused(key, decode(data, key, &d)) {
		kept(key)
		return last
	}
	return d.value
}

// checkedDoc is a document with a check of its own.
type checkedDoc[T any] struct {
	value T
	check func(T) strict.Errors
}

func (d *checkedDoc[T]) DecodeStrict(node *yaml.Node) error {
	return decodeChecked(node, &d.value, func() strict.Errors { return d.check(d.value) })
}

// decodeChecked decodes, then adds the places of the fields to what check finds.
func decodeChecked(node *yaml.Node, into any, check func() strict.Errors) error {
	if err := strict.Decode(node, into); err != nil {
		return err
	}
	errs := check()
	for _, e := range errs {
		if at, _ := strict.Lookup(node, e.Field); at != nil {
			e.Line, e.Column = at.Line, at.Column
		}
	}
	return errs.OrNil()
}

// maxDocument bounds one document; the ConfigMap as a whole holds 1 MiB.
const maxDocument = 1 << 20

// decode reads the document under a key; if there is no such key it leaves `into` as it is.
func decode(data map[string]string, key string, into strict.Decoder) error {
	text, given := data[key]
	switch {
	case !given:
		return nil
	case len(text) > maxDocument:
		return strict.NewError(nil, "", "is larger than 1 MiB", "")
	}
	switch node, err := strict.Document([]byte(text)); {
	case err != nil:
		return err
	case node == nil:
		return strict.NewError(nil, "", "there is nothing in it", "remove the key instead")
	default:
		return strict.Decode(node, into)
	}
}
