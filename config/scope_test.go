package config

import (
	"strings"
	"testing"
)

func scoped(t *testing.T, member, election string) (*Configuration, error) {
	t.Helper()
	return Parse("f", []byte("apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nmember: "+member+"\nelections: ["+election+"]\n"))
}

// TestScopeRevision checks that with scope: revision the names of election and lock end with the
// member's revision.
func TestScopeRevision(t *testing.T) {
	for election, want := range map[string][2]string{
		`{name: a}`: {"a", "a"}, `{name: a, scope: group}`: {"a", "a"},
		`{name: a, scope: revision}`:                    {"a-1-9-0", "a-1-9-0"},
		`{name: a, scope: revision, lock: {name: b.c}}`: {"a-1-9-0", "b.c-1-9-0"},
	} {
		c, err := scoped(t, `{revision: "1-9-0"}`, election)
		if err != nil {
			t.Errorf("%s: %v", election, err)
			continue
		}
		if e := c.Elections[0]; e.Name != want[0] || e.Lock.Name != want[1] {
			t.Errorf("%s: election %s, lock %s, want %v", election, e.Name, e.Lock.Name, want)
		}
		again, err := Parse("f", []byte(c.Canonical()))
		if err != nil || again.Canonical() != c.Canonical() || again.Elections[0].Digest() != c.Elections[0].Digest() {
			t.Errorf("%s: the canonical form says something else: %v\n%s", election, err, c.Canonical())
		}
	}
}

// TestScopeRevisionChecksNames checks that a document is refused if a name with the revision added
// cannot be the name of an object.
func TestScopeRevisionChecksNames(t *testing.T) {
	name := strings.Repeat("n", 60)
	for _, tt := range []struct{ member, election, want string }{
		{`{revision: "1-10"}`, "{name: " + name + ", scope: revision}",
			"f:5:89: elections[0].scope: the election would be called \"" + name + "-1-10\", which has 65 characters, and 63 are allowed (choose a shorter name, or a revision of lower-case letters, digits, dashes and dots)"},
		{`{revision: "1_9"}`, "{name: a, scope: revision}", `the election would be called "a-1_9", which is not a valid name (choose a shorter name, or a revision of lower-case letters`},
		{`{revision: Blue}`, "{name: a, scope: revision, lock: {name: b}}", `the lock would be called "b-Blue", which is not a valid name`},
		{`{revision: b}`, "{name: a, scope: revision}, {name: a-b}", `elections[1].name: "a-b" is the name of elections[0].name in line 5 too`},
		{`{revision: "1-9"}`, "{name: a, scope: revision, lock: {name: primacy-edge}}", `elections[0].lock.name: "primacy-edge-1-9" may be the name of a session: those of this group begin with primacy-edge- (give the lock another name)`},
		{`{revision: "1-9"}`, "{name: primacy-edge, scope: revision}", `elections[0].name: "primacy-edge-1-9" may be the name of a session`},
		{`{revision: b}`, "{name: a, scope: revision}, {name: c, lock: {name: a-b}}", `the lock "Lease/a-b" belongs to elections[0].name in line 5 too`},
	} {
		_, err := scoped(t, tt.member, tt.election)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s\ngot  %v\nwant %s", tt.member, tt.election, err, tt.want)
		}
	}
}
