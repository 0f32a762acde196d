// Package schema says what a document may hold: it describes the Go types that package strict decodes. A
// Schema becomes a JSON schema for editors, and the tables of a reference for people.
//
// The Go comment of a field describes its key. These tags of the field say the rest, beside `yaml`
// and `strict` (package strict):
//
//	default:"group"             the value of an absent key
//	otherwise:"that of the Pod" the same in words, where it is no fixed value
//	oneof:"group revision"      the words that a text may be; "@policies" takes them from Options.Words
//	form:"label"                a form of names in Options.Forms
//	min:"1" max:"3"             bounds of a number or of the length of a list; ">0" and "<1" exclude the bound
//	needs:"outage=failopen"     the key is refused without that value of a key beside it
//	excludes:"policy"           the key is refused beside that one
//	without:"drift"             the block of this field lacks a key that its type has
//	unique:"true"               the entries of the list differ
//
// A field that is not zero in the described value has that value as its default. The package keeps no
// state and starts no goroutine.
package schema
