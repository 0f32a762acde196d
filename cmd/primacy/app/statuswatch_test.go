package app

import (
	"slices"
	"testing"
)

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		width, height int
		want          []string
	}{
		{80, 24, []string{"one", "zwölf", "three"}},
		{80, 3, []string{"one", "zwölf", "three"}},
		{80, 2, []string{"one", "... 2 more lines"}},
		{4, 24, []string{"one", "zwöl", "thre"}},
		{0, 0, []string{"one", "zwölf", "three"}}, // some terminals do not know
	} {
		if got := fit([]string{"one", "zwölf", "three"}, tt.width, tt.height); !slices.Equal(got, tt.want) {
			t.Errorf("%dx%d: %q, want %q", tt.width, tt.height, got, tt.want)
		}
	}
}
