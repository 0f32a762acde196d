package config

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestOutage checks that range, outage and failopenFor are read, have defaults, survive the canonical
// form, and change the digest.
func TestOutage(t *testing.T) {
	head := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nelections: [{name: a"
	digests := map[string]string{}
	for text, want := range map[string]Election{
		"":                                    {Outage: OutageStop},
		", outage: stop":                      {Outage: OutageStop},
		", range: true":                       {Outage: OutageStop, Range: true},
		", outage: failopen":                  {Outage: OutageFailopen, FailopenFor: 150 * time.Second},
		", outage: failopen, failopenFor: 1m": {Outage: OutageFailopen, FailopenFor: time.Minute},
		", outage: failopen, failopenFor: unbounded, range: true": {Outage: OutageFailopen, FailopenFor: Unbounded, Range: true},
	} {
		c, err := Parse("f", []byte(head+text+"}]"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := Parse("f", []byte(c.Canonical()))
		if err != nil {
			t.Errorf("%s: %v\n%s", text, err, c.Canonical())
			continue
		}
		for _, e := range []Election{c.Elections[0], again.Elections[0]} {
			renewal := record.RenewalUnlessForeign
			if want.Range || want.Outage == OutageFailopen {
				renewal = record.RenewalRecord // a session cannot renew these
			}
			if e.Range != want.Range || e.Outage != want.Outage || e.FailopenFor != want.FailopenFor || e.Lock.Renewal != renewal {
				t.Errorf("%s: got %v %v %v, renewed by the %s", text, e.Range, e.Outage, e.FailopenFor, e.Lock.Renewal)
			}
		}
		if again.Elections[0].Digest() != c.Elections[0].Digest() {
			t.Errorf("%s: the digest changed", text)
		}
		digests[c.Elections[0].Digest()] += text + ";"
	}
	if len(digests) != 5 {
		t.Errorf("digests: %v", digests)
	}
}

// TestNotBySession checks that renewal: session is refused for elections that a session cannot renew.
func TestNotBySession(t *testing.T) {
	for text, want := range map[string]string{
		"range: true":      "ranges are made of the renewals of the lock itself",
		"outage: failopen": "when a session ends, all its elections end, so none can fail open alone",
	} {
		_, err := Parse("f", []byte("apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nelections: [{name: a, lock: {renewal: session}, "+text+"}]"))
		want = "f:4:39: elections[0].lock.renewal: " + want + " (write renewal: record, or leave it out)"
		if err == nil || strings.TrimSpace(err.Error()) != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// TestLeastOutage checks that the shortest outage that ends work is that of the quickest election, or of the session.
func TestLeastOutage(t *testing.T) {
	head := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\n"
	for text, quickest := range map[string]string{
		"timing: {profile: relaxed}\nelections: [{name: a}, {name: b, timing: {profile: fast}}]": "fast",
		"timing: {profile: fast}\nelections: [{name: a, timing: {profile: relaxed}}]":            "fast",
		"timing: {profile: relaxed}\nelections: []":                                              "relaxed",
	} {
		c, err := Parse("f", []byte(head+text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want, err := record.Profile(quickest)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.LeastOutage(); got != want.Outage() {
			t.Errorf("%s: %v, want %v", text, got, want.Outage())
		}
	}
}
