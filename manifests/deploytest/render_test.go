package deploytest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	chartloader "helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// release is where a chart is installed, and with what.
type release struct {
	namespace string
	values    map[string]any
	// cluster is what `lookup` reads; nil for nothing, as in `helm template`.
	cluster *rest.Config
}

// files renders the chart's templates, by their names.
func (r release) files() (map[string]string, error) {
	chart, err := chartloader.LoadDir("../chart")
	if err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: "primacy", Namespace: r.namespace, Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, r.values, options, nil)
	if err != nil {
		return nil, err
	}
	var files map[string]string
	if r.cluster != nil {
		files, err = engine.RenderWithClient(chart, values, r.cluster)
	} else {
		files, err = engine.Render(chart, values)
	}
	maps.DeleteFunc(files, func(name, text string) bool { return strings.TrimSpace(text) == "" })
	return files, err
}

// objects renders the chart, in the order in which Helm installs.
func (r release) objects(t *testing.T) (all []*unstructured.Unstructured) {
	t.Helper()
	files, err := r.files()
	if err != nil {
		t.Fatal(err)
	}
	_, sorted, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range sorted {
		all = append(all, decode(t, []byte(m.Content))...)
	}
	return all
}

// kustomized builds a folder, in the order in which kubectl applies.
func kustomized(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

// decode reads the objects of a manifest.
func decode(t *testing.T, text []byte) (all []*unstructured.Unstructured) {
	t.Helper()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// called is how errors name an object.
func called(o *unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }

// of returns the objects of a kind.
func of(kind string, all []*unstructured.Unstructured) (found []*unstructured.Unstructured) {
	for _, o := range all {
		if o.GetKind() == kind {
			found = append(found, o)
		}
	}
	return found
}
