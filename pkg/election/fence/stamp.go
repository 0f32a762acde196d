package fence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// stampPrefix and an election's name are the key of the label with the token of that election's term.
const stampPrefix = "fence.primacy.dev/"

// StampKey is the label of objects that members of the election write: its value is the token of the term in which
// the object was written last. The policy of `primacy generate fence-policy` compares it with the lock. It is a label, since
// a policy can select objects by labels only before it looks for the lock.
func StampKey(election string) string { return stampPrefix + election }

// Labelled is any object of Kubernetes.
type Labelled interface {
	GetLabels() map[string]string
	SetLabels(labels map[string]string)
}

// Stamp puts the token of a term into an object that will be written, for clients without Gate.Stamping.
func Stamp(object Labelled, election string, token record.Token) {
	all := map[string]string{}
	for k, v := range object.GetLabels() { // the map may be that of a cache
		all[k] = v
	}
	all[StampKey(election)] = valueOf(token)
	object.SetLabels(all)
}

func valueOf(token record.Token) string { return strconv.FormatUint(uint64(token), 10) }

// ErrNotStamped: Stamping could not stamp a write, so it was not sent. The error says why.
var ErrNotStamped = errors.New("write not stamped, and not sent")

// Stamping is RoundTripper, and stamps what passes: a create, update, patch or apply that passes the gate carries the
// tokens of the terms under which it passed, so no write can get a later term's token. It stamps JSON, from any client;
// another body fails with ErrNotStamped. Set ContentType of the rest.Config to application/json: typed clients of client-go
// send protobuf otherwise.
//
// Stamping leaves reads, deletes, requests of Ungated, and what is no resource alone. A JSON patch needs an object that
// has labels already, or the API server refuses it.
func (g *Gate) Stamping(next http.RoundTripper) http.RoundTripper {
	t := g.RoundTripper(next).(*transport)
	t.stamps = true
	return t
}

// StampingWithinDo is WithinDo, and stamps what passes as Gate.Stamping does.
func StampingWithinDo(next http.RoundTripper) http.RoundTripper {
	t := WithinDo(next).(*transport)
	t.stamps = true
	return t
}

// stamped returns the request with the tokens in its body.
func (p *pass) stamped(req *http.Request) (*http.Request, error) {
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		return req, nil
	}
	fenced := func(t term) bool { return t.token != 0 } // a disabled election has no tokens
	if req.URL == nil || !isResource(req.URL.Path) || !slices.ContainsFunc(p.under, fenced) {
		return req, nil
	}
	add, err := stampOf(req)
	if err != nil {
		return nil, err
	}
	var text []byte
	if req.Body != nil {
		text, err = io.ReadAll(req.Body)
		if err := errors.Join(err, req.Body.Close()); err != nil {
			return nil, fmt.Errorf("%w: read the body: %w", ErrNotStamped, err)
		}
	}
	for _, t := range p.under {
		if !fenced(t) {
			continue
		}
		if text, err = add(text, StampKey(t.of.name), valueOf(t.token)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotStamped, err)
		}
	}
	out := req.Clone(req.Context())
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength = int64(len(text))
	out.Header.Del("Content-Length")
	return out, nil
}

// isResource says whether the path is below /api or /apis, which may be below a prefix.
func isResource(path string) bool {
	return strings.Contains(path, "/api/") || strings.Contains(path, "/apis/")
}

// stampOf returns what adds a label to a body of the request's type.
func stampOf(req *http.Request) (func(body []byte, key, value string) ([]byte, error), error) {
	kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: content type %q: %w", ErrNotStamped, req.Header.Get("Content-Type"), err)
	case kind == "application/json-patch+json":
		return stampJSONPatch, nil
	case kind == "application/json", kind == "application/merge-patch+json", kind == "application/strategic-merge-patch+json",
		kind == "application/apply-patch+yaml":
		return stampObject, nil
	}
	return nil, fmt.Errorf("%w: a body of type %s cannot be stamped (set the ContentType of the rest.Config to application/json)", ErrNotStamped, kind)
}

// stampObject adds the label to an object, or to a patch that looks like one.
func stampObject(body []byte, key, value string) ([]byte, error) {
	object, err := fieldsOf(body, "the body")
	if err != nil {
		return nil, err
	}
	metadata, err := fieldsOf(object["metadata"], "metadata")
	if err != nil {
		return nil, err
	}
	labels, err := fieldsOf(metadata["labels"], "labels")
	if err != nil {
		return nil, err
	}
	if labels[key], err = json.Marshal(value); err != nil {
		return nil, err
	}
	if metadata["labels"], err = json.Marshal(labels); err != nil {
		return nil, err
	}
	if object["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// fieldsOf reads a JSON object; without a text it is empty.
func fieldsOf(text []byte, what string) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if len(text) == 0 {
		return all, nil
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s is no JSON object: %w", what, err)
	}
	if all == nil { // in a patch it removes what is there
		return nil, fmt.Errorf("%s is null (leave it out, or name what to remove)", what)
	}
	return all, nil
}

// stampJSONPatch adds an operation that sets the label; it comes last, so none after it can change it.
func stampJSONPatch(body []byte, key, value string) ([]byte, error) {
	var operations []json.RawMessage
	if err := json.Unmarshal(body, &operations); err != nil {
		return nil, fmt.Errorf("the body is no JSON patch: %w", err)
	}
	path := "/metadata/labels/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	add, err := json.Marshal(map[string]string{"op": "add", "path": path, "value": value})
	if err != nil {
		return nil, err
	}
	return json.Marshal(append(operations, add))
}
