package configmap

import (
	"fmt"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/scripted"
)

func TestAnswers(t *testing.T) {
	scripted.Run(t, scripted.Kind{
		Resource: "configmaps",
		New: func(t *testing.T, address, namespace string) lock.Store {
			return In(newClient(t, &rest.Config{Host: address}), namespace)
		},
		Object: func(uid, version, holder string) string {
			annotations := ""
			if holder != "" {
				annotations = fmt.Sprintf(`,"annotations":{%q:%q}`, LeaderAnnotation, fmt.Sprintf(`{"holderIdentity":%q}`, holder))
			}
			return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":%q,"resourceVersion":%q%s}}`, uid, version, annotations)
		},
		List: func() string { return `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"}}` },
	})
}
