package configmap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
)

// LeaderAnnotation is the annotation in which every elector on ConfigMaps keeps its record.
const LeaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// leader is the annotation. The names, their order, and what is omitted are part of the
// format; the others write it with encoding/json and its escapes. An unknown time is null.
type leader struct {
	HolderIdentity       string  `json:"holderIdentity"`
	HolderKey            string  `json:"holderKey,omitempty"`
	LeaseDurationSeconds int64   `json:"leaseDurationSeconds"`
	AcquireTime          *string `json:"acquireTime"`
	RenewTime            *string `json:"renewTime"`
	LeaderTransitions    int64   `json:"leaderTransitions"`
}

var leaderFields = []string{
	"holderIdentity", "holderKey", "leaseDurationSeconds", "acquireTime", "renewTime", "leaderTransitions",
}

// maxUnknown is how many bytes of unknown fields we keep. No elector needs more, and nobody
// may fill the object until it can no longer be written.
const maxUnknown = 4 << 10

// readLeader reads as much of the annotation as it can, by the rules of encoding/json, which
// the others use: names in any case, the last of several. It returns unknown fields unchanged,
// for writeLeader.
func readLeader(s string) (f codec.Fields, unknown string) {
	var l leader
	err := codec.ReadJSON(s, &l)
	if err == nil && !strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") {
		err = errors.New("is null")
	}
	f = codec.Fields{
		Holder: l.HolderIdentity, HolderKey: l.HolderKey,
		DurationSeconds: l.LeaseDurationSeconds, Transitions: l.LeaderTransitions,
	}
	var badAcquired, badRenewed error
	f.Acquired, badAcquired = readTime("acquireTime", l.AcquireTime)
	f.Renewed, badRenewed = readTime("renewTime", l.RenewTime)
	for _, err := range []error{err, badAcquired, badRenewed} {
		if err != nil {
			f.Problem = LeaderAnnotation + ": " + err.Error()
			return f, ""
		}
	}
	return f, unknownOf(s)
}

// readTime fails where the others fail, also for the empty string: they would be stuck with
// it, and we repair only what we find broken.
func readTime(what string, s *string) (time.Time, error) {
	if s == nil {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, *s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is no time", what)
	}
	return t, nil
}

// unknownOf returns the JSON members for which leader has no field, each preceded by a comma.
func unknownOf(s string) string {
	d := json.NewDecoder(strings.NewReader(s))
	if _, err := d.Token(); err != nil {
		return ""
	}
	var unknown bytes.Buffer
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return ""
		}
		name, ok := key.(string)
		if !ok || known(name) {
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return ""
		}
		unknown.WriteByte(',')
		unknown.Write(quoted)
		unknown.WriteByte(':')
		unknown.Write(value)
	}
	if unknown.Len() > maxUnknown {
		return ""
	}
	return unknown.String()
}

func known(name string) bool {
	for _, f := range leaderFields {
		if strings.EqualFold(f, name) {
			return true
		}
	}
	return false
}

// writeLeader encodes the fields as the annotation.
func writeLeader(f codec.Fields, unknown string) (string, error) {
	b, err := json.Marshal(leader{
		HolderIdentity: f.Holder, HolderKey: f.HolderKey, LeaseDurationSeconds: f.DurationSeconds,
		AcquireTime: writeTime(f.Acquired), RenewTime: writeTime(f.Renewed), LeaderTransitions: f.Transitions,
	})
	if err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b, []byte("}"))) + unknown + "}", nil
}

func writeTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Truncate(time.Second).Format(time.RFC3339))
}
