// Package deploytest applies the chart and the kustomizations to a real API server. They are rendered by the code of
// Helm and kustomize themselves.
package deploytest

import _ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil" // for its CRDs, which are in that module
