package dev

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// prefer writes the default revision to the ConfigMap key from which the configuration reads it.
func (c *cluster) prefer(ctx context.Context, key revisionKey, revision string) error {
	maps := c.core.ConfigMaps(c.namespace)
	_, err := maps.Patch(ctx, key.Name, types.MergePatchType, []byte(key.patch(revision)), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Data: map[string]string{key.Key: revision}}
		_, err = maps.Create(ctx, m, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("default revision: %w", err)
	}
	return nil
}

// patch is the change that sets the revision, for the API and for kubectl.
func (k revisionKey) patch(revision string) string {
	patch, err := json.Marshal(map[string]any{"data": map[string]string{k.Key: revision}})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(patch)
}
