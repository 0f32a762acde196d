package record

// Digest identifies the preference in a member's session.
func (p Preferred) Digest() string { return p.String() }

// For returns the preference for an election: the same for each.
func (p Preferred) For(string) Preferred { return p }
