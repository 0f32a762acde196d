// Package webhook reads the preferred revision off a label of a
// MutatingWebhookConfiguration, where Istio keeps its default revision.
//
//	webhook: {}
//
// stands for Istio's names:
//
//	webhook: {name: istio-revision-tag-default, label: istio.io/rev}
//
// No such object, no such label, or an empty one mean that no revision is preferred, so
// that nobody leads for revision alone. While the object cannot be read, or the label is no
// revision, the last value stays and is tried again; before the first answer nothing is
// delivered and nothing moves.
//
// The object belongs to the cluster, not to a namespace, so a Role is not enough: it needs a
// ClusterRole with list and watch on mutatingwebhookconfigurations of
// admissionregistration.k8s.io, which may be bound to that one name, and a
// ClusterRoleBinding. Nothing else of Primacy's does.
//
// Goroutines: client-go reads the stream on one of its own, which has ended when Watch
// returns.
package webhook
