package configmap

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/revisions"
)

var _ revisions.Writer = (*source)(nil)

// Write implements revisions.Writer, by one compare-and-swap. It creates no ConfigMap.
func (s *source) Write(ctx context.Context, from, to string) error {
	maps, place := s.client.ConfigMaps(s.key.Namespace), s.key.Name+"/"+s.key.Key
	cm, err := maps.Get(ctx, s.key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no configmap %s (create it with %s: %q)", s.key.Name, s.key.Key, to)
	} else if err != nil {
		return fmt.Errorf("read the default revision in configmap %s: %w", place, err)
	}
	switch says := strings.TrimSpace(cm.Data[s.key.Key]); says {
	case to:
		return nil
	case from, "":
	default:
		return fmt.Errorf("configmap %s says %q, which is neither %s nor %s, so it is left alone (set it to %s by hand)", place, says, from, to, to)
	}
	next := cm.DeepCopy() // carries the version and uid that we read
	if next.Data == nil {
		next.Data = map[string]string{}
	}
	next.Data[s.key.Key] = to
	if _, err := maps.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("set the default revision in configmap %s: %w", place, err)
	}
	return nil
}
