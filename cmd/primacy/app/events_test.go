package app

import (
	"context"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// eventOn waits until an object, which must exist, has an Event of which "type reason: message" matches: eventon KIND NAME REGEXP.
func (s *scripts) eventOn(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3)
	kind, name, pattern, namespace := args[0], args[1], regexp.MustCompile(args[2]), ts.Getenv("NS")
	if where, of, elsewhere := strings.Cut(name, "/"); elsewhere {
		namespace, name = where, of
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	core, err := coreclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	leases, err := coordinationclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	var object metav1.Object
	if kind == "Lease" {
		object, err = leases.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	} else {
		object, err = core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	ts.Check(err)
	of := fields.Set{"involvedObject.kind": kind, "involvedObject.name": name, "involvedObject.uid": string(object.GetUID())}
	seen, err := core.Events(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: of.AsSelector().String()})
	ts.Check(err)
	defer seen.Stop()
	for e := range seen.ResultChan() {
		if is, ok := e.Object.(*corev1.Event); ok && pattern.MatchString(is.Type+" "+is.Reason+": "+is.Message) {
			return
		}
	}
	ts.Fatalf("%s %s has no Event that matches %s", kind, name, args[2])
}
