package policy_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/primacy-dev/primacy/pkg/election/fence/policy"
)

func TestParseResource(t *testing.T) {
	for name, want := range map[string]schema.GroupResource{
		"configmaps":              {Resource: "configmaps"},
		"endpoints":               {Resource: "endpoints"},
		"deployments.apps":        {Group: "apps", Resource: "deployments"},
		"widgets.example.com":     {Group: "example.com", Resource: "widgets"},
		"deployments.example.com": {Group: "example.com", Resource: "deployments"},
		"widgets.vendor.io":       {Group: "vendor.io", Resource: "widgets"},
	} {
		if got, err := policy.ParseResource(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, says := range map[string]string{
		"deployments":                     "did you mean deployments.apps?",
		"deployment":                      "did you mean deployments.apps?",
		"deployment.apps":                 "did you mean deployments.apps?",
		"configmap":                       "did you mean configmaps?",
		"ingress":                         "did you mean ingresses.networking.k8s.io?",
		"networkpolicy.networking.k8s.io": "did you mean networkpolicies.networking.k8s.io?",
		"widgets":                         "no resource of the core group (a resource of another group needs it: widgets.example.com",
		"deployments.v1.apps":             "kubectl api-resources -o name",
		"deployments.v1":                  "kubectl api-resources -o name",
		"configmaps.":                     "kubectl api-resources -o name",
		"ConfigMap":                       "kubectl api-resources -o name",
		"pods/status":                     "kubectl api-resources -o name",
		"*.apps":                          "kubectl api-resources -o name",
		"":                                "kubectl api-resources -o name",
	} {
		if got, err := policy.ParseResource(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
}
