package priority

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// ChainKey is one of the total preorders by which a chain compares.
type ChainKey int

const (
	// ByPreferred puts the preferred revision before all others.
	ByPreferred ChainKey = iota + 1
	// ByLocation puts local before remote, whatever the revisions.
	ByLocation
	// ByWeight puts the heavier before the lighter.
	ByWeight
)

var chainKeys = []ChainKey{ByPreferred, ByLocation, ByWeight}

func (k ChainKey) String() string {
	switch k {
	case ByPreferred:
		return "preferred"
	case ByLocation:
		return "location"
	case ByWeight:
		return "weight"
	}
	return fmt.Sprintf("ChainKey(%d)", int(k))
}

// chain compares by one key after another: the first in which two candidates differ decides,
// both whether one outranks the other and which comes first. If the deciding key is unknown of
// the holder, nobody outranks the holder, whatever the later keys say: otherwise two candidates
// that each outrank a third could be outranked by it in turn.
//
// Its keys are in an array so that two chains can be compared; zero ends them.
type chain [3]ChainKey

// By makes the chain of the keys. It ignores repeated keys. Without keys it returns None. By(ByWeight) is
// the policy "weight".
func By(keys ...ChainKey) Policy {
	var c chain
	n := 0
	for _, k := range keys {
		if !slices.Contains(chainKeys, k) {
			panic(fmt.Sprintf("priority: there is no %v", k))
		}
		if !slices.Contains(c[:n], k) {
			c[n] = k
			n++
		}
	}
	if n == 0 {
		return None{}
	}
	return c
}

// Keys returns the names of the keys that a chain may have.
func Keys() (names []string) {
	for _, k := range chainKeys {
		names = append(names, k.String())
	}
	return names
}

// ParseChain makes the chain of the keys with these names. The error lists the known names.
func ParseChain(names []string) (Policy, error) {
	keys := make([]ChainKey, len(names))
	for i, name := range names {
		at := slices.IndexFunc(chainKeys, func(k ChainKey) bool { return k.String() == name })
		if at < 0 {
			return nil, fmt.Errorf("unknown key %q of a chain (want one of %s)", name, joined(chainKeys))
		}
		keys[i] = chainKeys[at]
	}
	return By(keys...), nil
}

func joined(keys []ChainKey) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.String()
	}
	return strings.Join(names, ", ")
}

func (c chain) keys() []ChainKey {
	if end := slices.Index(c[:], 0); end >= 0 {
		return c[:end]
	}
	return c[:]
}

func (c chain) String() string {
	if keys := c.keys(); len(keys) > 1 || keys[0] != ByWeight {
		return "[" + joined(keys) + "]"
	}
	return ByWeight.String()
}

// Outranks implements Policy. Nobody's weight is known here.
func (c chain) Outranks(challenger, holder record.Key, preferred record.Preferred) bool {
	return c.OutranksWeighed(Unweighed(challenger), Unweighed(holder), preferred)
}

// Order implements Policy. Nobody's weight is known here.
func (c chain) Order(a, b record.Key, preferred record.Preferred) int {
	return c.OrderWeighed(Unweighed(a), Unweighed(b), preferred)
}

// OutranksWeighed implements Weighing.
func (c chain) OutranksWeighed(challenger, holder Candidate, preferred record.Preferred) bool {
	if !synced(preferred) || absent(challenger.Key) {
		return false
	}
	for _, k := range c.keys() {
		if order := k.order(challenger, holder, preferred); order != 0 {
			return order < 0 && k.knows(holder)
		}
	}
	return false
}

// OrderWeighed implements Weighing.
func (c chain) OrderWeighed(a, b Candidate, preferred record.Preferred) int {
	for _, k := range c.keys() {
		if order := k.order(a, b, preferred); order != 0 {
			return order
		}
	}
	return 0
}

// knows says whether the candidate has what the key compares. ByPreferred always knows enough:
// a candidate without a record.Key is not preferred.
func (k ChainKey) knows(c Candidate) bool {
	switch k {
	case ByLocation:
		return !absent(c.Key)
	case ByWeight:
		return c.known && !absent(c.Key)
	}
	return true
}

// order is the total preorder: candidates of which the key is unknown come last.
func (k ChainKey) order(a, b Candidate, preferred record.Preferred) int {
	if known := first(k.knows(a), k.knows(b)); known != 0 {
		return known
	}
	switch k {
	case ByPreferred:
		return first(isPreferred(a.Key, preferred), isPreferred(b.Key, preferred))
	case ByLocation:
		return first(isLocal(a.Key), isLocal(b.Key))
	}
	if !k.knows(a) {
		return 0
	}
	return cmp.Compare(b.weight, a.weight)
}
