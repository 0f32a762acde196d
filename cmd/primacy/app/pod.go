package app

import (
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

// ownedByPod makes the Pod of this process, as the environment names the Pod, the owner of the sessions that
// the member writes. Kubernetes then deletes the sessions with the Pod; otherwise each Pod would leave one
// behind. An owner must be in the namespace of what it owns: the garbage collector takes an owner in
// another namespace for gone, and would delete the sessions of a living member. So sessions in another
// namespace have no owner.
func ownedByPod(namespace, name string, getenv func(string) string, log *zap.Logger) []lease.Option {
	pod, uid, at := getenv("POD_NAME"), getenv("POD_UID"), getenv("POD_NAMESPACE")
	switch {
	case uid == "":
		return nil
	case pod == "" || at == "":
		log.Warn("sessions stay behind when this Pod goes: POD_UID says nothing without POD_NAME and POD_NAMESPACE (manifests/deployment.yaml sets all three)")
		return nil
	case at != namespace:
		log.Info("sessions stay behind when this Pod goes: a Pod can own only what is in its own namespace",
			zap.String("podNamespace", at), zap.String("namespace", namespace))
		return nil
	}
	return []lease.Option{lease.OwnedBy(name, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(uid)})}
}
