package app

import (
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/members"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// need is one permission. A start asks for it, and `primacy generate rbac` grants it.
type need struct {
	resource schema.GroupResource
	verb     string
	// names are the objects that the permission is for; nil for all.
	names []string
	// open: there are more objects than names, which nobody can name beforehand.
	open  bool
	place place
	// namespace is where the objects are, with elsewhere.
	namespace string
	use       use
	// why is for people who read the rights.
	why string
}

// place is where the objects of a need are.
type place int

const (
	// besideLocks is the namespace of locks and sessions.
	besideLocks place = iota + 1
	// besidePods is the namespace of the members' Pods.
	besidePods
	// inCluster is no namespace.
	inCluster
	// elsewhere is another namespace, of locks alone.
	elsewhere
)

// use is what a member does with a permission.
type use int

const (
	// toElect: without it a member does not start.
	toElect use = iota + 1
	toDriveRollouts
	toHearOfDeaths
	toReviewTokens
	toWriteEvents
	toLabelPods
	toRemoveSessions
)

// lacks says what a member cannot do without the permissions of a use, and what helps.
var lacks = map[use]string{
	toDriveRollouts:  "this member could not drive a rollout (grant it the role that ends in :rollout, of what primacy generate rbac prints)",
	toHearOfDeaths:   "this member could not hear what member.proofs allows (grant what primacy generate rbac prints)",
	toWriteEvents:    "this member could not write Kubernetes Events about its terms (grant what primacy generate rbac prints, or do without them)",
	toLabelPods:      "this member could not label its Pod, so no Service follows its leadership (grant what primacy generate rbac prints)",
	toRemoveSessions: "this member could not remove sessions that ended long ago (grant what primacy generate rbac prints, or leave member.removeSessions out)",
	toReviewTokens:   "this member could not review tokens, so nobody but probes may read its endpoints (grant what primacy generate rbac prints)",
}

// shownNames limits how many names an error lists.
const shownNames = 16

// what names the objects of the permission, for people.
func (n need) what() string {
	names := strings.Join(n.names[:min(len(n.names), shownNames)], ", ")
	if len(n.names) > shownNames {
		names += ", ..."
	}
	switch {
	case n.place == inCluster:
		return strings.TrimSpace(n.resource.String()+" "+names) + " of the cluster"
	case n.resource == leases && n.place == besideLocks || n.names == nil: // a Role gives members all Leases there
		return n.resource.String()
	}
	return n.resource.String() + " " + names
}

var (
	leases     = schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
	configMaps = schema.GroupResource{Resource: "configmaps"}
	pods       = schema.GroupResource{Resource: "pods"}
	nodes      = schema.GroupResource{Resource: "nodes"}
)

// isLike says whether two needs are for the same verb on the same resource.
func (n need) isLike(o need) bool {
	return n.resource == o.resource && n.verb == o.verb && n.place == o.place && n.namespace == o.namespace
}

// with lists one need for each verb.
func (n need) with(verbs ...string) (all []need) {
	for _, verb := range verbs {
		n.verb = verb
		all = append(all, n)
	}
	return all
}

// needs are the permissions of a member, for everything that its configuration asks of it. source is the source of the
// default revision; nil if there is none. member is empty for members whose names are not known.
func needs(p *config.Process, member string, source election.Preferences) []need {
	return slices.Concat(
		locksNeed(p, member), preferenceNeeds(p, source), rolloutNeeds(p, source),
		wordsNeed(p.Configuration.Member.Proofs), endpointsNeed(p.Configuration.HTTP),
		eventsNeed(p), labelsNeed(p), sweepNeeds(p.Configuration.Member),
	)
}

// required are the needs without which a member does not start.
func required(all []need) []need { return usedTo(toElect, all) }

func usedTo(u use, all []need) []need {
	return slices.DeleteFunc(slices.Clone(all), func(n need) bool { return n.use != u })
}

func locksNeed(p *config.Process, member string) []need {
	inLeases := []string{}
	if member != "" {
		inLeases = append(inLeases, members.SessionName(p.Group, member))
	}
	inLeases = append(inLeases, lockNames(p.Configuration, config.DefaultLockKind, "")...)
	const whyAll = "Locks and sessions. Kubernetes cannot limit the right to create to names, nor that to list and watch to the labels " +
		"of a group. Members also read and end the sessions of the dead, whose names nobody knows beforehand."
	every := need{resource: leases, place: besideLocks, use: toElect, why: whyAll}
	known := every
	known.names, known.open = inLeases, true
	all := slices.Concat(known.with("get"), every.with("list", "watch", "create"), known.with("update"))
	all = append(all, mapsNeed(p, need{place: besideLocks})...)
	for _, namespace := range p.Configuration.Namespaces() {
		at := need{place: elsewhere, namespace: namespace}
		all = slices.Concat(all, leasesNeed(p, at), mapsNeed(p, at))
	}
	return all
}

// lockNames are the names of the locks of a kind in a namespace; nil if there are none.
func lockNames(c *config.Configuration, kind, namespace string) (names []string) {
	for i := range c.Elections {
		for _, l := range c.Elections[i].LockNames() {
			if l.Kind == kind && l.Namespace == namespace {
				names = append(names, l.Name)
			}
		}
	}
	return names
}

// leasesNeed is for locks of kind Lease in another namespace, which members watch by name if they are few.
func leasesNeed(p *config.Process, at need) []need {
	names := lockNames(p.Configuration, config.DefaultLockKind, at.namespace)
	if names == nil {
		return nil
	}
	at.resource, at.use = leases, toElect
	locks, watched, made := at, at, at
	locks.names, locks.why = names, "Locks of kind Lease."
	watched.names, watched.why = names, locks.why
	if len(names) > lease.MostStreams {
		watched.names = nil
		watched.why = fmt.Sprintf("Locks of kind Lease. More than %d of them are watched together, which Kubernetes cannot limit to names.", lease.MostStreams)
	}
	made.why = "Members create locks of kind Lease. Kubernetes cannot limit this right to names."
	return slices.Concat(locks.with("get"), watched.with("list", "watch"), locks.with("update"), made.with("create"))
}

// mapsNeed is for locks of kind ConfigMap, which members watch by name.
func mapsNeed(p *config.Process, at need) []need {
	names := lockNames(p.Configuration, kindOfConfigMaps, at.namespace)
	if names == nil {
		return nil
	}
	at.resource, at.use = configMaps, toElect
	locks, made := at, at
	locks.names, locks.why = names, "Locks of kind ConfigMap."
	made.why = "Members create locks of kind ConfigMap. Kubernetes cannot limit this right to names."
	return append(locks.with("get", "list", "watch", "update"), made.with("create")...)
}

// preferenceNeeds: a member moves no election before it has read all sources of preferred revisions.
func preferenceNeeds(p *config.Process, source election.Preferences) []need {
	all := need{resource: configMaps, names: []string{rollout.ObjectName(p.Group)}, place: besideLocks, use: toElect,
		why: "Pins and the rollout. The ConfigMap need not exist."}.with("get", "list", "watch")
	if r, ok := source.(revisions.Reader); ok {
		object := r.Reads()
		n := need{resource: schema.GroupResource{Group: object.Group, Resource: object.Resource}, names: []string{object.Name},
			place: besideLocks, use: toElect, why: "The source of the preferred revision."}
		if object.Scope == revisions.OfCluster {
			n.place = inCluster
		}
		all = append(all, n.with("list", "watch")...)
	}
	return all
}

// rolloutNeeds are the permissions that a member needs only to drive a rollout.
func rolloutNeeds(p *config.Process, source election.Preferences) []need {
	if len(controller.ElectionName(p.Group)) > longestName {
		return nil
	}
	n := need{resource: configMaps, names: []string{rollout.ObjectName(p.Group)}, place: besideLocks, use: toDriveRollouts,
		why: "The progress of the rollout."}
	r, reads := source.(revisions.Reader)
	if _, writes := source.(revisions.Writer); reads && writes {
		n.names = append(n.names, r.Reads().Name)
		n.why = "The progress of the rollout, and in the end the preferred revision."
	}
	lock := need{resource: leases, names: []string{controller.ElectionName(p.Group)}, place: besideLocks, use: toDriveRollouts}
	return append(n.with("get", "update"), lock.with("get", "update")...)
}

// wordsNeed: docs/death.md says what a member does with the Pods and nodes.
func wordsNeed(words []election.Proof) (all []need) {
	kubelet, outOfService := slices.Contains(words, election.ProofKubelet), slices.Contains(words, election.ProofOutOfService)
	of := need{resource: pods, place: besidePods, use: toHearOfDeaths,
		why: "The member's own Pod: its container and node. Nobody knows the names of Pods beforehand."}
	on := need{resource: nodes, place: inCluster, use: toHearOfDeaths,
		why: "The member's own node: its boot id. Nobody knows the names of nodes beforehand."}
	switch {
	case kubelet:
		of.why = "The member's own Pod, and what kubelets say of the containers of others."
		all = append(all, of.with("get", "list", "watch")...)
	case outOfService:
		all = append(all, of.with("get")...)
	}
	switch {
	case outOfService:
		on.why = "The member's own node, and the taints of all nodes."
		all = append(all, on.with("get", "list", "watch")...)
	case kubelet:
		all = append(all, on.with("get")...)
	}
	return all
}

// endpointsNeed: with access `token`, the API server says whose a token is and what its owner may. Where no token may be
// sent, it is asked nothing.
func endpointsNeed(h config.HTTP) []need {
	if !h.Served() || h.Access != config.AccessToken || h.ProbesOnly() {
		return nil
	}
	n := need{place: inCluster, use: toReviewTokens, why: "Whose a token is."}
	n.resource = schema.GroupResource{Group: authenticationv1.GroupName, Resource: "tokenreviews"}
	all := n.with("create")
	n.why = "Whether its owner may read the path (docs/endpoints.md)."
	n.resource = schema.GroupResource{Group: authorizationv1.GroupName, Resource: "subjectaccessreviews"}
	return append(all, n.with("create")...)
}

// eventsNeed: Events are on the locks, so in their namespace.
func eventsNeed(p *config.Process) []need {
	n := need{resource: schema.GroupResource{Resource: "events"}, place: besideLocks, use: toWriteEvents,
		why: "Events about the terms of members. Nobody knows their names beforehand."}
	all := n.with("create", "patch")
	for _, namespace := range p.Configuration.Namespaces() {
		n.place, n.namespace = elsewhere, namespace
		all = append(all, n.with("create", "patch")...)
	}
	return all
}

// labelsNeed is for elections whose leader's Pod has a label.
func labelsNeed(p *config.Process) []need {
	if !slices.ContainsFunc(p.Configuration.Elections, func(e config.Election) bool { return e.LeaderLabel }) {
		return nil
	}
	n := need{resource: pods, place: besidePods, use: toLabelPods,
		why: "Labels of leaders' Pods (leaderLabel). Nobody knows the names of Pods beforehand. Whoever may patch a Pod may also change its image."}
	return n.with("get", "list", "patch")
}

// sweepNeeds: members delete nothing unless they are asked to remove sessions.
func sweepNeeds(m config.Member) []need {
	if !m.RemoveSessions {
		return nil
	}
	n := need{resource: leases, place: besideLocks, use: toRemoveSessions,
		why: "Sessions that ended long ago. Kubernetes cannot limit this right to sessions: nobody knows their names beforehand. Members delete no lock."}
	return n.with("delete")
}
