// Package podlabel labels the Pod of a member with the elections that it leads, so that a Service can follow a leader.
//
// The Pod of the leader of election e in group g has the label LeadsPrefix+e with the value g. Beside it stands
// GroupPrefix+g, by which members of the group find all Pods with such labels in one list.
//
// A Labeller follows the transitions of a Manager, and never holds it up: it looks at what its member leads when it has time,
// and writes all changes in one patch. When its member begins a term it also takes the label from other Pods, since a dead
// Pod keeps its labels. It takes its own label away when the work begins to stop, and what an earlier container of the Pod left
// when it begins. A failed request is tried again, later each time.
//
// A label is no fence. For some milliseconds, or for as long as the API server cannot be reached, two Pods bear it, or
// none.
package podlabel
