package config

import (
	"testing"
	"time"
)

func TestSharedLocks(t *testing.T) {
	text := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nelections:\n" +
		"- {name: a, lock: {sharedWith: client-go, foreign: {renewDeadline: 10s, retryPeriod: 2s}}}\n" +
		"- {name: b, lock: {kind: ConfigMap, sharedWith: istio}}\n- {name: c}\n" +
		"- {name: d, lock: {migrateFrom: {kind: ConfigMap}}}\n"
	c, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Elections[0].Lock, c.Elections[1].Lock
	if a.SharedWith != SharedWithClientGo || a.Foreign.Wait() != 32*time.Second {
		t.Errorf("%+v", a)
	}
	if b.SharedWith != SharedWithIstio || b.Foreign.Wait() != 0 || c.Elections[2].Lock.SharedWith != SharedWithNobody {
		t.Errorf("%+v", b)
	}
	if from := c.Elections[3].Lock.MigrateFrom; from == nil || *from != (LockName{Kind: "ConfigMap", Name: "d"}) {
		t.Errorf("%+v", from)
	}
	again, err := Parse("f", []byte(c.Canonical()))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range again.Elections {
		if e.Digest() != c.Elections[i].Digest() {
			t.Errorf("%s: the canonical form is another election:\n%s", e.Name, c.Canonical())
		}
	}
	if c.Elections[0].Digest() == c.Elections[2].Digest() {
		t.Error("who shares the lock does not count in the digest")
	}
}
