package priority

import "github.com/primacy-dev/primacy/pkg/election/record"

// None is the policy "none": all members are equal, and nothing moves because one outranks another.
type None struct{}

// Outranks implements Policy.
func (None) Outranks(_, _ record.Key, _ record.Preferred) bool { return false }

// Order implements Policy.
func (None) Order(_, _ record.Key, _ record.Preferred) int { return 0 }

func (None) String() string { return "none" }
