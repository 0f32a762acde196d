// Package webhook reads the preferred revision off a label of a
// MutatingWebhookConfiguration, where Istio keeps its default revision.
//
//	webhook: {}
//
// is short for Istio's names:
//
//	webhook: {name: istio-revision-tag-default, label: istio.io/rev}
//
// If there is no such object or label, or the label is empty, no revision is preferred, and
// nobody leads for revision alone. While the object cannot be read, or the label is no revision,
// the last value stays and we try again. Before the first answer we deliver nothing, and nothing
// moves.
//
// The object belongs to the cluster, not to a namespace, so a Role is not enough. The source needs a
// ClusterRole with list and watch on mutatingwebhookconfigurations of admissionregistration.k8s.io,
// which may be restricted to that one name, and a ClusterRoleBinding.
//
// Goroutines: client-go reads the stream on one of its own, which has ended when Watch
// returns.
package webhook
