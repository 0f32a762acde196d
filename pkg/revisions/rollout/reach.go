package rollout

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Rank is an election's place in the order in which a rollout moves elections. Zero is
// before all of them.
type Rank uint64

// lastRank is the highest rank: with it as UpTo, every election is in reach.
const lastRank = ^Rank(0)

// RankOf computes the rank of an election in the rollout with the given uid, the same in every
// process. It is never zero.
func RankOf(uid, election string) Rank {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid)) // a hash never fails to write
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(election))
	x := h.Sum64()
	// FNV leaves names that differ in their last letter close together.
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return Rank(max(x, 1))
}

// String is 16 hexadecimal digits.
func (r Rank) String() string { return fmt.Sprintf("%016x", uint64(r)) }

// MarshalYAML implements yaml.Marshaler.
func (r Rank) MarshalYAML() (any, error) { return r.String(), nil }

var hex16 = regexp.MustCompile(`^[0-9a-f]{16}$`)

// DecodeStrict implements strict.Decoder.
func (r *Rank) DecodeStrict(node *yaml.Node) error {
	parsed, err := strconv.ParseUint(node.Value, 16, 64)
	if node.Kind != yaml.ScalarNode || !hex16.MatchString(node.Value) || err != nil {
		return strict.NewError(node, "", fmt.Sprintf("want a rank, got %.40q", node.Value), "16 hexadecimal digits")
	}
	*r = Rank(parsed)
	return nil
}

// Reach says which elections are the canary's. Its lists are sorted and name each election once, so
// that lookups stay fast for a member with many elections.
type Reach struct {
	// UpTo is the last rank in reach; zero for none.
	UpTo Rank `yaml:"upTo,omitempty"`
	// Names lists elections in reach whatever their rank.
	Names []string `yaml:"names,omitempty"`
	// Except lists elections that are not in reach yet although their rank is.
	Except []string `yaml:"except,omitempty"`
}

// Has says whether an election of the rollout with the given uid is in reach.
func (r Reach) Has(uid, election string) bool {
	switch {
	case listed(r.Names, election):
		return true
	case r.UpTo == 0 || listed(r.Except, election):
		return false
	}
	return RankOf(uid, election) <= r.UpTo
}

func listed(names []string, election string) bool {
	_, found := slices.BinarySearch(names, election)
	return found
}

// targets returns how many of n elections a weight moves.
func targets(n, weight int) int { return (n*weight + 99) / 100 }
