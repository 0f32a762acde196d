package machine

import "testing"

// What all states share that know of no foreign elector stays empty, whatever the other tests did.
func TestNobodyWritesToNoForeigners(t *testing.T) {
	e := newEnvironment(t.Output())
	for _, line := range []string{"member m1 sharing=client-go", "stored foreign by=other-1", "list", "tick"} {
		e.run(line)
	}
	if e.state.foreign == noForeigners || len(e.state.foreign.suspects) == 0 {
		t.Fatal("this shows nothing: no foreign elector is known")
	}
	if !noForeigners.isNothing() {
		t.Errorf("%+v", *noForeigners)
	}
}
