package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtIn are resources of Kubernetes by their groups.
var builtIn = map[string][]string{
	"": {
		"bindings", "configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes",
		"pods", "podtemplates", "replicationcontrollers", "resourcequotas", "secrets", "serviceaccounts", "services",
	},
	"admissionregistration.k8s.io": {
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
	},
	"apiextensions.k8s.io":         {"customresourcedefinitions"},
	"apiregistration.k8s.io":       {"apiservices"},
	"apps":                         {"controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"},
	"autoscaling":                  {"horizontalpodautoscalers"},
	"batch":                        {"cronjobs", "jobs"},
	"certificates.k8s.io":          {"certificatesigningrequests"},
	"coordination.k8s.io":          {"leases"},
	"discovery.k8s.io":             {"endpointslices"},
	"flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
	"networking.k8s.io":            {"ingressclasses", "ingresses", "ipaddresses", "networkpolicies", "servicecidrs"},
	"node.k8s.io":                  {"runtimeclasses"},
	"policy":                       {"poddisruptionbudgets"},
	"rbac.authorization.k8s.io":    {"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
	"resource.k8s.io":              {"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"},
	"scheduling.k8s.io":            {"priorityclasses"},
	"storage.k8s.io":               {"csidrivers", "csinodes", "csistoragecapacities", "storageclasses", "volumeattachments"},
}

// version is how the version of an API begins a group that has none to begin with.
var version = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?(\.|$)`)

// ParseResource reads the name of a resource as `kubectl api-resources -o name` prints it: configmaps, deployments.apps.
// The API server matches a policy by exactly this name, and a policy for a resource that does not exist protects nothing. So a name without a
// group must be a resource of the core group, and the singular of a built-in resource is refused. A plural with a group passes unseen: it may
// be a custom resource.
func ParseResource(name string) (schema.GroupResource, error) {
	r := schema.ParseGroupResource(name)
	if r.Resource == "" || strings.ToLower(name) != name || strings.ContainsAny(name, "/* ") || strings.HasSuffix(name, ".") || version.MatchString(r.Group) {
		return schema.GroupResource{}, fmt.Errorf("%q is no resource (write it as `kubectl api-resources -o name` does: configmaps, deployments.apps)", name)
	}
	if slices.Contains(builtIn[r.Group], r.Resource) {
		return r, nil
	}
	if meant := likely(r); len(meant) > 0 {
		return schema.GroupResource{}, fmt.Errorf("%q is no resource (did you mean %s?)", name, strings.Join(meant, " or "))
	}
	if r.Group == "" {
		return schema.GroupResource{}, fmt.Errorf("%q is no resource of the core group (a resource of another group needs it: %s.example.com; `kubectl api-resources -o name` prints the names)", name, name)
	}
	return r, nil
}

// likely are the names of built-in resources that was probably meant: in its group if it has one, in any otherwise.
func likely(r schema.GroupResource) []string {
	var all []string
	for group, resources := range builtIn {
		if r.Group != "" && r.Group != group {
			continue
		}
		for _, plural := range resources {
			if r.Resource == plural || r.Resource == singular(plural) {
				all = append(all, schema.GroupResource{Group: group, Resource: plural}.String())
			}
		}
	}
	slices.Sort(all)
	return all
}

func singular(plural string) string {
	if stem, ok := strings.CutSuffix(plural, "ies"); ok {
		return stem + "y"
	}
	if stem, ok := strings.CutSuffix(plural, "sses"); ok {
		return stem + "ss"
	}
	return strings.TrimSuffix(plural, "s")
}
