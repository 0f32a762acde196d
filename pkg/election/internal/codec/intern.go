package codec

import "sync"

// interner keeps one copy of strings that many records have: identities, sessions,
// groups, reasons. It forgets all when it is full, so strangers cannot make it grow.
type interner struct {
	mu   sync.Mutex
	seen map[string]string
}

const (
	internCount = 4096
	internBytes = 512
)

func (i *interner) share(s string) string {
	if s == "" || len(s) > internBytes {
		return s
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if known, ok := i.seen[s]; ok {
		return known
	}
	if i.seen == nil || len(i.seen) >= internCount {
		i.seen = make(map[string]string)
	}
	i.seen[s] = s
	return s
}
