package lease

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNames checks that a name counts only beside the holder that it was written for.
func TestNames(t *testing.T) {
	of := func(holder, annotation string) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{NameAnnotation: annotation}},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
		}
	}
	ours := NewNames("web-0-1", "Web 0")
	l := of("web-0-1_00000001", "")
	ours.write(l)
	theirs := NewNames("b", "b")
	theirs.read(l)
	for _, wrong := range []*coordinationv1.Lease{
		of("stranger", "stranger somebody"),                             // of no form of ours
		of("stranger", "web-0-2_00000001 left over"),                    // beside another holder
		of("c_00000002", "c_00000002 "), of("d_00000003", "d_00000003"), // no name
	} {
		theirs.read(wrong)
		theirs.write(wrong)
	}
	for identity, want := range map[string]string{
		"web-0-1_00000001": "Web 0", "b_0000000a": "b", "stranger": "stranger", "web-0-2_00000001": "web-0-2_00000001",
		"c_00000002": "c_00000002", "d_00000003": "d_00000003", "": "",
	} {
		if got := theirs.Of(identity); got != want {
			t.Errorf("%q is called %q, want %q", identity, got, want)
		}
	}
	for i := range 3 * mostNames {
		id := "x_" + string(rune('0'+i%10)) + "000000" + string(rune('0'+i/10))
		theirs.read(of(id, id+" x"))
	}
	if n := len(theirs.known); n > mostNames {
		t.Errorf("%d names are kept", n)
	}
}
