package configmap

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Get returns what the key says now; empty if no revision is preferred.
func Get(ctx context.Context, client coreclient.ConfigMapsGetter, key Key) (string, error) {
	cm, err := client.ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the default revision: %w", err)
	}
	return strings.TrimSpace(cm.Data[key.Key]), nil
}

// setTries is how often Set tries when others write at the same time.
const setTries = 10

// Set stores the revision under the key, by compare-and-swap, and leaves other keys alone. It
// creates the ConfigMap if there is none.
func Set(ctx context.Context, client coreclient.ConfigMapsGetter, key Key, revision string) error {
	maps := client.ConfigMaps(key.Namespace)
	var err error
	for range setTries {
		var cm *corev1.ConfigMap
		cm, err = maps.Get(ctx, key.Name, metav1.GetOptions{})
		absent := apierrors.IsNotFound(err)
		switch {
		case absent:
			cm = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Data: map[string]string{key.Key: revision}}
			_, err = maps.Create(ctx, cm, metav1.CreateOptions{})
		case err == nil && cm.Data[key.Key] == revision:
			return nil
		case err == nil:
			if cm.Data == nil {
				cm.Data = map[string]string{}
			}
			cm.Data[key.Key] = revision
			_, err = maps.Update(ctx, cm, metav1.UpdateOptions{}) // carries the version and uid that we read
		}
		if err == nil {
			return nil
		}
		if raced := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && !absent; !raced {
			return fmt.Errorf("set the default revision: %w", err)
		}
	}
	return fmt.Errorf("set the default revision: %w (others changed configmap %s %d times in a row; try again)", err, key.Name, setTries)
}
