package codec

import "github.com/primacy-dev/primacy/pkg/election/record"

// The JSON in our annotations. Its fields stand in this order, which is part of the format.

type wireMark struct {
	// Identity and Transitions bind the annotation to the object's fields, so neither may be missing.
	Identity        *string `json:"identity"`
	Transitions     *int64  `json:"transitions"`
	Key             string  `json:"key,omitempty"`
	Weight          int     `json:"weight,omitempty"`
	Session         string  `json:"session,omitempty"`
	SessionUID      string  `json:"sessionUID,omitempty"`
	Beat            uint64  `json:"beat,omitempty"`
	DurationSeconds int64   `json:"durationSeconds,omitempty"`
	Renewal         string  `json:"renewal,omitempty"`
	Falls           int32   `json:"falls,omitempty"`
	WasForeign      bool    `json:"wasForeign,omitempty"`
	// Deaths stand in the mark, since the next owner of a session writes a new mark: a member of an earlier version,
	// which does not know them, would carry an annotation of its own on.
	Deaths []wireDeath `json:"deaths,omitempty"`
}

type wireDeath struct {
	Proof    string `json:"proof"`
	Identity string `json:"identity"`
	UID      string `json:"uid"`
	Beat     uint64 `json:"beat,omitempty"`
	By       string `json:"by,omitempty"`
	How      string `json:"how,omitempty"`
	At       string `json:"at"`
}

type wireMember struct {
	Identity    string         `json:"identity"`
	Revision    string         `json:"revision,omitempty"`
	Location    string         `json:"location,omitempty"`
	Weight      int            `json:"weight,omitempty"`
	Ready       bool           `json:"ready,omitempty"`
	Preference  string         `json:"preference,omitempty"`
	Config      string         `json:"config,omitempty"`
	Fallen      int            `json:"fallen,omitempty"`
	Version     string         `json:"version,omitempty"`
	DriftPPM    int            `json:"driftPPM,omitempty"`
	Longest     int            `json:"longestLeaseSeconds,omitempty"`
	Rules       string         `json:"rules,omitempty"`
	Timings     string         `json:"timings,omitempty"`
	Places      string         `json:"places,omitempty"`
	Standing    []string       `json:"standing,omitempty"`
	Open        []string       `json:"open,omitempty"`
	Protocol    int            `json:"protocol,omitempty"`
	Disowned    []wireDisowned `json:"disowned,omitempty"`
	Proofs      []record.Proof `json:"proofs,omitempty"`
	Container   *wireContainer `json:"container,omitempty"`
	RenewMillis int64          `json:"renewMillis,omitempty"`
	Lacks       []wireLack     `json:"lacks,omitempty"`
	Lags        string         `json:"lags,omitempty"`

	Predecessors []wirePredecessor `json:"predecessors,omitempty"`
}

type wirePredecessor struct {
	Config   string `json:"config,omitempty"`
	Timings  string `json:"timings,omitempty"`
	Longest  int    `json:"longestLeaseSeconds,omitempty"`
	Session  int    `json:"sessionLeaseSeconds,omitempty"`
	DriftPPM int    `json:"driftPPM,omitempty"`
	For      int    `json:"forSeconds,omitempty"`
}

type wireLack struct {
	Election string `json:"election"`
	Why      string `json:"why"`
}

type wireContainer struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	PodUID    string `json:"podUID"`
	Name      string `json:"name"`
	ID        string `json:"id"`
	Node      string `json:"node"`
	NodeUID   string `json:"nodeUID"`
	BootID    string `json:"bootID"`
}

type wireDisowned struct {
	Lock string `json:"lock"`
	Beat uint64 `json:"beat"`
}

type wireClaim struct {
	Identity        string `json:"identity"`
	Transitions     *int64 `json:"transitions"`
	DurationSeconds int64  `json:"durationSeconds"`
}

type wireEntry struct {
	When string `json:"when"`
	Who  string `json:"who,omitempty"`
	Why  string `json:"why,omitempty"`
}
