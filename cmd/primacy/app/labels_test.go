package app

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// bears waits until the labels of a Pod, as "a=b c=d", match: bears POD REGEXP
func (s *scripts) bears(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	core, err := coreclient.NewForConfig(s.cluster.Config)
	ts.Check(err)
	pattern, last := regexp.MustCompile(args[1]), ""
	seen, err := core.Pods(ts.Getenv("NS")).Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", args[0]).String()})
	ts.Check(err)
	defer seen.Stop()
	for e := range seen.ResultChan() {
		if p, ok := e.Object.(*corev1.Pod); ok {
			var all []string
			for k, v := range p.Labels {
				all = append(all, k+"="+v)
			}
			slices.Sort(all)
			if last = strings.Join(all, " "); pattern.MatchString(last) {
				return
			}
		}
	}
	ts.Fatalf("pod %s has labels %q, which do not match %s", args[0], last, args[1])
}
