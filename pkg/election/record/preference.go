package record

// Digest stands for the preference in the session of whoever sees it.
func (p Preferred) Digest() string { return p.String() }

// For is the preference of an election: the same for each.
func (p Preferred) For(string) Preferred { return p }
