package record

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestOurFormIsThatOfTheExpression compares OurForm with the expression that defines the form. A
// difference would make a stranger count as one of our members, or a member as a foreign elector.
func TestOurFormIsThatOfTheExpression(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?_[0-9a-f]{8}$`)
	const some = "aFg9-._\nZé"
	rng := rand.New(rand.NewPCG(1, 2))
	ours := 0
	for range 200_000 {
		name := []byte(NewIdentity("h-0.example"[:1+rng.IntN(11)], rng.Uint32()))
		for range rng.IntN(4) {
			at, c := rng.IntN(len(name)), some[rng.IntN(len(some))]
			switch rng.IntN(3) {
			case 0:
				name[at] = c
			case 1:
				name = append(name[:at], name[at+1:]...)
			default:
				name = append(name, c)
			}
			if len(name) == 0 {
				break
			}
		}
		is := OurForm(string(name))
		if want := form.Match(name); is != want {
			t.Fatalf("OurForm(%q) is %v", name, is)
		}
		if is {
			ours++
		}
	}
	for _, short := range []string{"", "_", "_01234567", "a_0123456", "a_01234567"} {
		if is, want := OurForm(short), form.MatchString(short); is != want {
			t.Errorf("OurForm(%q) is %v", short, is)
		}
	}
	if ours < 10_000 || ours > 190_000 {
		t.Errorf("%d of 200000 are of our form: this shows little", ours)
	}
}
