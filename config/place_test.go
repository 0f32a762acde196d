package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestPlaces checks where the locks are that a document puts into namespaces, and that the canonical form keeps that.
func TestPlaces(t *testing.T) {
	text := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nnamespace: home\nelections:\n" +
		"- {name: a, lock: {namespace: kube-system, name: kube-scheduler, sharedWith: client-go}}\n" +
		"- {name: b, lock: {namespace: home}}\n" +
		"- {name: c, lock: {namespace: nn, migrateFrom: {namespace: home}}}\n" +
		"- {name: d, lock: {migrateFrom: {namespace: nn}}}\n" +
		"- {name: e, lock: {namespace: nn, migrateFrom: {kind: ConfigMap}}}\n" +
		"- {name: f, lock: {namespace: nn, name: b}}\n" + // b is in home
		"- {name: g, enabled: false, lock: {namespace: nowhere}}\n"
	first, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("f", []byte(first.Canonical()))
	if err != nil {
		t.Fatal(err, first.Canonical())
	}
	for _, c := range []*Configuration{first, again} {
		var got []string
		for i, e := range c.Elections {
			for _, l := range c.Elections[i].LockNames() {
				got = append(got, e.Name+": "+l.String()+" "+string(e.Lock.Renewal))
			}
		}
		want := []string{
			"a: Lease/kube-system/kube-scheduler record", "b: Lease/b " + string(record.RenewalUnlessForeign), "c: Lease/c record", "c: Lease/nn/c record",
			"d: Lease/nn/d record", "d: Lease/d record", "e: ConfigMap/nn/e record", "e: Lease/nn/e record", "f: Lease/nn/b record",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := c.Namespaces(); !slices.Equal(got, []string{"kube-system", "nn"}) {
			t.Errorf("the locks are in %v", got)
		}
	}
	if !same(first, again) {
		t.Error("the canonical form means something else")
	}
}
