// Package codec maps a record.Record to the fields, annotations and labels of a
// Kubernetes object, and back, byte for byte. Every store on Kubernetes shares it; what
// differs between kinds is only where the plain fields stand.
//
// Writing is strict: what the object could not say again is refused with
// lock.ErrInvalid. Reading is tolerant: it never fails and never trusts. What it does
// not understand it reports in Record.Unreadable, and it fills the rest as far as it
// can. Unknown JSON fields are skipped, since a later version may add some.
//
// # What is ours
//
//	primacy.dev/token        decimal, left out when 0
//	primacy.dev/holder       JSON of record.Mark; `identity` and `transitions` are always there
//	primacy.dev/handover-to  an identity, as it is
//	primacy.dev/claim        JSON of record.Claim, all three fields; read whether bound or not
//	primacy.dev/history      JSON list of {when, who, why}; RFC 3339, whole seconds, newest last
//	primacy.dev/member       JSON of record.Member, on a session
//	primacy.dev/beat         decimal, on a session, in place of the holder's `beat`
//
// and the labels primacy.dev/election, primacy.dev/group and
// app.kubernetes.io/managed-by: primacy, the last one only beside a group. What of these
// a record does not say vanishes from the object. Everything else an object carries,
// other annotations under primacy.dev/ included, is kept in Record.Rest and written back.
//
// Functions and methods of this package are safe for concurrent use.
package codec
