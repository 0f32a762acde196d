// Package codec maps a record.Record to the fields, annotations and labels of a
// Kubernetes object, and back, byte for byte. Every store on Kubernetes shares it; kinds
// differ only in where the plain fields stand.
//
// Encode is strict: it refuses a record that would not read back the same, with
// lock.ErrInvalid. Decode is tolerant: it never fails and trusts nothing. It reports what it
// does not understand in Record.Unreadable, and fills the rest as far as it can. It skips
// unknown JSON fields, since a later version may add some.
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
// app.kubernetes.io/managed-by: primacy, the last one only together with a group. Encode
// removes the annotations and labels of these that a record does not set. Everything else in
// an object, including other annotations under primacy.dev/, stays in Record.Rest, and Encode
// writes it back.
//
// Functions and methods of this package are safe for concurrent use.
package codec
