package view

import "testing"

func TestNames(t *testing.T) {
	for identity, want := range map[string]string{
		"stable-0_0000abcd": "stable-0", "istiod-5f_x": "istiod-5f_x", "": "", "a\x1b[m_00000001": `a\x1b[m_00000001`, "a\xff": `a\xff`,
		"größe": "größe", "say \"hi\"\n": `say "hi"\n`, "\ufffd": "\ufffd",
	} {
		if got := NameOf(identity); got != want {
			t.Errorf("NameOf(%q) = %q, want %q", identity, got, want)
		}
	}
}
