package hostile_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

// act is something that a stranger with the right to edit does to a lock.
type act struct {
	name string
	// on lists the situations in which the act is tried.
	on []situation
	// kinds are the kinds of object that the act is tried on; empty means both.
	kinds []kind
	do    func(ctx context.Context, tr *trial) error
	// lasting: the act goes on until somebody leads.
	lasting bool
	// outside says why the guarantee does not cover the act; empty where it does.
	outside string
	// operator is what a person must do before anybody leads again; nil where nobody must.
	operator func(ctx context.Context, tr *trial) error
}

// situation is the state of the lock when the act is committed.
type situation int

const (
	// led: a member leads.
	led situation = iota + 1
	// free: nobody lives, the last one released it.
	free
	// killed: the holder was cut off a moment ago and works until its own deadline.
	killed
)

var (
	always   = []situation{led, free, killed}
	held     = []situation{led, killed}
	justLed  = []situation{led}
	justDead = []situation{killed}
)

// edit is an act that changes the object.
func edit(name string, on []situation, change func(object)) act {
	return act{name: name, on: on, do: func(ctx context.Context, tr *trial) error { return tr.edit(ctx, change) }}
}

func (a act) only(k ...kind) act {
	a.kinds = k
	return a
}

// annotation is an act that writes one annotation.
func annotation(key, what, value string, on []situation) act {
	return edit(fmt.Sprintf("`%s`: %s", key, what), on, func(o object) { o.annotate(key, value) })
}

// field is an act that changes a field of an annotation of ours.
func field(key, name, what string, value any, on []situation) act {
	return edit(fmt.Sprintf("`%s`: %s %s", key, name, what), on, func(o object) {
		o.annotateJSON(key, func(m map[string]any) { m[name] = value })
	})
}

const (
	broken    = `{"identity":"`
	stranger  = "scheduler-1_6f"
	nobody    = "gone-0_0badcafe"
	invalid   = "edge-\xff\xfe_01234567"
	long      = 1 << 20
	longNotes = 200 << 10 // nearly as long as the API server lets annotations be
)

func acts() []act {
	all := slices.Concat(annotations(), numbers(), identities(), objects())
	seen := map[string]bool{}
	for _, a := range all {
		if seen[a.name] {
			panic("two acts are named " + a.name)
		}
		seen[a.name] = true
	}
	return all
}

// annotations are acts that replace an annotation's JSON by something else.
func annotations() []act {
	list := []act{
		annotation(codec.HolderAnnotation, "broken JSON", broken, always),
		annotation(codec.HolderAnnotation, "a list", `[]`, justLed),
		annotation(codec.HolderAnnotation, "null", `null`, justLed),
		annotation(codec.HolderAnnotation, "invalid UTF-8", `{"identity":"`+invalid+`","transitions":4}`, justLed),
		annotation(codec.HolderAnnotation, "200 KiB", `{"identity":"`+strings.Repeat("x", longNotes)+`"}`, justLed),
		field(codec.HolderAnnotation, "identity", "a number", 5, justLed),
		field(codec.HolderAnnotation, "transitions", "a text", "4", justLed),
		annotation(codec.TokenAnnotation, "a word", "one", justLed),
		annotation(codec.TokenAnnotation, "-1", "-1", justLed),
		annotation(codec.ClaimAnnotation, "broken JSON", broken, always),
		annotation(codec.ClaimAnnotation, "a text", `"x"`, justLed),
		annotation(codec.HandoverAnnotation, "5000 bytes", strings.Repeat("x", 5000), justLed),
		annotation(codec.HistoryAnnotation, "broken JSON", broken, justLed),
		annotation(codec.HistoryAnnotation, "an object", `{}`, justLed),
		annotation(codec.HistoryAnnotation, "a time in year 1", `[{"when":"0001-02-03T04:05:06Z"}]`, justLed),
		annotation(codec.HistoryAnnotation, "a time in year 9999", `[{"when":"9999-12-31T23:59:59Z"}]`, justLed),
		annotation(codec.MemberAnnotation, "broken JSON", broken, justLed),
		annotation(codec.MemberAnnotation, "makes the lock a session", `{"identity":"`+nobody+`"}`, always),
		annotation(codec.BeatAnnotation, "a word", "one", justLed),
		annotation(configmap.LeaderAnnotation, "broken JSON", broken, always).only(inConfigMap),
		annotation(configmap.LeaderAnnotation, "null", `null`, justLed).only(inConfigMap),
		annotation(configmap.LeaderAnnotation, "empty", ``, justLed).only(inConfigMap),
		field(configmap.LeaderAnnotation, "holderIdentity", "a number", 5, justLed).only(inConfigMap),
		field(configmap.LeaderAnnotation, "leaseDurationSeconds", "a text", "15", justLed).only(inConfigMap),
		field(configmap.LeaderAnnotation, "renewTime", "a word", "now", justLed).only(inConfigMap),
		field(configmap.LeaderAnnotation, "holderKey", "another revision's", "canary", justLed).only(inConfigMap),
		annotation(lease.KeyAnnotation, "another revision's", "canary", justLed).only(inLease),
		annotation(lease.KeyAnnotation, "200 KiB", strings.Repeat("x", longNotes), justLed).only(inLease),
	}
	list = append(list,
		edit("`primacy.dev/holder` removed, the holder left", always, func(o object) { delete(o.meta().Annotations, codec.HolderAnnotation) }),
		edit("all annotations of ours removed", justLed, func(o object) {
			for _, key := range ours {
				delete(o.meta().Annotations, key)
			}
		}),
		edit("all labels removed", justLed, func(o object) { o.meta().Labels = nil }),
		edit("all labels another's", justLed, func(o object) {
			o.meta().Labels = map[string]string{lock.ElectionLabel: "other", lock.GroupLabel: "other", lock.ManagedByLabel: "other"}
		}),
		everySecond("every annotation of ours rewritten every second", func(o object, n int) {
			for _, key := range ours {
				o.annotate(key, fmt.Sprint("garbage ", n))
			}
		}),
		everySecond("an annotation and a label of a stranger's own, every second", func(o object, n int) {
			o.annotate("example.com/note", fmt.Sprint(n))
			o.meta().Labels["example.com/note"] = fmt.Sprint(n)
		}),
	)
	return list
}

// everySecond is an act that is repeated every second while members wait out the lease of a dead holder.
func everySecond(name string, change func(o object, n int)) act {
	return act{name: name, on: justDead, lasting: true, do: func(ctx context.Context, tr *trial) error {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := range 60 {
			if err := tr.edit(ctx, func(o object) { change(o, n) }); err != nil {
				return err
			}
			over := make(chan error, 1)
			waiting, cancel := context.WithCancel(ctx)
			go func() { over <- tr.led(waiting) }()
			select {
			case <-over:
				cancel()
				return nil
			case <-tick.C:
				cancel()
				<-over
			}
		}
		return nil
	}}
}

// numbers are acts on durations, times and counters.
func numbers() []act {
	var list []act
	for _, n := range []int64{-5, 0, 1, 1 << 40} {
		list = append(list, field(codec.HolderAnnotation, "durationSeconds", fmt.Sprint(n), n, held))
	}
	for _, n := range []int32{-5, 0, 1, math.MaxInt32} {
		list = append(list, edit(fmt.Sprintf("plain duration %d", n), held, func(o object) { o.duration(n) }))
	}
	for _, at := range []time.Time{time.Date(1, 2, 3, 4, 5, 6, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		list = append(list, edit(fmt.Sprintf("times in year %d", at.Year()), justLed, func(o object) { o.times(at) }))
	}
	for _, n := range []int32{-1, 0, 1000, 1 << 30, math.MaxInt32} {
		list = append(list, edit(fmt.Sprintf("transitions %d", n), always, func(o object) { o.transitions(n) }))
	}
	for _, n := range []uint64{1, 1 << 61, 1 << 62, math.MaxUint64} {
		list = append(list, annotation(codec.TokenAnnotation, fmt.Sprint(n), fmt.Sprint(n), always))
	}
	return append(list, edit("token removed", always, func(o object) { delete(o.meta().Annotations, codec.TokenAnnotation) }))
}

// identities are acts on who holds the lock.
func identities() []act {
	return []act{
		edit("holder of 1 MiB (200 KiB in a ConfigMap)", always, func(o object) {
			if o.cm != nil {
				o.holder(strings.Repeat("x", longNotes))
				return
			}
			o.holder(strings.Repeat("x", long))
		}),
		edit("holder of 5000 bytes", justLed, func(o object) { o.holder(strings.Repeat("x", 5000)) }),
		edit("holder invalid UTF-8", always, func(o object) {
			o.holder(nobody)
			if o.lease != nil {
				o.holder(invalid)
				return
			}
			text := o.meta().Annotations[configmap.LeaderAnnotation]
			o.annotate(configmap.LeaderAnnotation, strings.Replace(text, nobody, invalid, 1))
		}),
		{name: "holder renamed to another member", on: held, do: func(ctx context.Context, tr *trial) error {
			other := tr.other()
			return tr.edit(ctx, func(o object) { o.holder(other) })
		}},
		edit("holder renamed to a member that is not", always, func(o object) { o.holder(nobody) }),
		edit("holder renamed to a foreign name", always, func(o object) { o.holder(stranger) }),
		foreignFor("2 hours", 7200),
		foreignFor("68 years", math.MaxInt32),
		{name: "another member named in holder and annotation", on: held, do: func(ctx context.Context, tr *trial) error {
			other := tr.other()
			return tr.edit(ctx, func(o object) {
				o.holder(other)
				o.annotateJSON(codec.HolderAnnotation, func(m map[string]any) { m["identity"] = other })
			})
		}, outside: "consistent with our annotation"},
		edit("holder blanked, our annotation left", held, func(o object) { o.holder("") }),
		edit("released as client-go does it, our annotation left", held, func(o object) {
			o.holder("")
			o.duration(1)
			o.times(time.Now())
		}),
		{name: "holder blanked in both", on: held, do: func(ctx context.Context, tr *trial) error {
			return tr.edit(ctx, func(o object) {
				o.holder("")
				o.annotateJSON(codec.HolderAnnotation, func(m map[string]any) { m["identity"] = "" })
			})
		}, outside: "consistent with our annotation: a forged release"},
		annotation(codec.ClaimAnnotation, "forged", fmt.Sprintf(`{"identity":%q,"transitions":1,"durationSeconds":5}`, stranger), always),
		annotation(codec.HandoverAnnotation, "forged, names nobody", nobody, always),
		annotation(codec.HandoverAnnotation, "forged, longer than any name", strings.Repeat("e", 3000), always),
		{name: "`" + codec.HandoverAnnotation + "`: forged, names the other member", on: justLed, do: func(ctx context.Context, tr *trial) error {
			return tr.edit(ctx, func(o object) { o.annotate(codec.HandoverAnnotation, tr.other()) })
		}},
	}
}

// foreignFor makes a foreign elector the holder, for so long that an operator must release the lock.
func foreignFor(what string, seconds int32) act {
	return act{
		name: "holder renamed to a foreign name, for " + what, on: justLed,
		do: func(ctx context.Context, tr *trial) error {
			return tr.edit(ctx, func(o object) {
				o.holder(stranger)
				o.duration(seconds)
			})
		},
		operator: func(ctx context.Context, tr *trial) error {
			alarm := func() bool { return strings.Contains(tr.reports(), "a duration too long") }
			if err := tr.crew.await(ctx, tr.String()+": alarm", alarm); err != nil {
				return err
			}
			return tr.edit(ctx, func(o object) { // a release, as the elector itself would write it
				o.holder("")
				o.duration(1)
				o.times(time.Now())
			})
		},
	}
}

// objects are acts on the object as a whole.
func objects() []act {
	remove := func(ctx context.Context, tr *trial) error { return tr.crew.raw.delete(ctx, tr.kind, tr.election) }
	again := func(change func(tr *trial, o object)) func(ctx context.Context, tr *trial) error {
		return func(ctx context.Context, tr *trial) error {
			o, err := tr.crew.raw.get(ctx, tr.kind, tr.election)
			if err != nil {
				return err
			}
			if err := remove(ctx, tr); err != nil {
				return err
			}
			o = recreated(o)
			change(tr, o)
			err = tr.crew.raw.create(ctx, tr.kind, o)
			if exists(err) {
				return nil // a member was faster
			}
			return err
		}
	}
	replaced := func(by func(*trial) object) func(ctx context.Context, tr *trial) error {
		return func(ctx context.Context, tr *trial) error {
			for {
				o, err := tr.crew.raw.get(ctx, tr.kind, tr.election)
				if err != nil {
					return err
				}
				old := by(tr).copy()
				old.meta().ResourceVersion = o.meta().ResourceVersion
				if err := tr.crew.raw.put(ctx, tr.kind, tr.election, old); !apierrors.IsConflict(err) {
					return err
				}
			}
		}
	}
	return []act{
		{name: "deleted", on: always, do: remove},
		{name: "deleted and recreated, empty", on: always, do: again(func(_ *trial, o object) {
			if o.lease != nil {
				o.lease.Spec = newObject(inLease).lease.Spec
			}
			o.meta().Annotations, o.meta().Labels = nil, nil
		})},
		{name: "deleted and recreated as it was", on: always, do: again(func(*trial, object) {})},
		{name: "deleted and recreated by a foreign elector", on: held, do: again(func(_ *trial, o object) {
			o.meta().Annotations, o.meta().Labels = nil, nil
			o.holder(stranger)
			o.duration(5)
			o.transitions(0)
			o.times(time.Now())
		})},
		{name: "replaced by a copy from before, of the same term", on: held, do: replaced(func(tr *trial) object { return tr.earlier })},
		{name: "replaced by a copy from before the term: a release", on: held, do: replaced(func(tr *trial) object { return tr.released }),
			outside: "consistent with our annotation: a forged release"},
	}
}

// exists says whether the error means that somebody else created the object first.
func exists(err error) bool { return apierrors.IsAlreadyExists(err) }

// refused says whether the error means that the API server lets nobody store such an object.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}
