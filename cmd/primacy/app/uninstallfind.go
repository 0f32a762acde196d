package app

import (
	"context"
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// find lists everything with the labels of the group.
func (u *uninstallCommand) find(ctx context.Context) (found uninstallation, err error) {
	found = uninstallation{Namespace: u.namespace, Group: u.group, Objects: []ownedObject{}, Kept: []ownedObject{}, Living: []string{}}
	of := metav1.ListOptions{LabelSelector: lock.GroupLabel + "=" + u.group}
	leases, err := u.api.Leases(u.namespace).List(ctx, of)
	if err != nil {
		return found, err
	}
	for _, l := range leases.Items {
		if err := u.addLease(ctx, &found, ownedObject{Kind: status.Lease, What: whatSession}, l); err != nil {
			return found, err
		}
	}
	configMaps, err := u.maps().List(ctx, of)
	if err != nil {
		return found, err
	}
	for _, m := range configMaps.Items {
		if err := u.findMap(ctx, &found, "", m); err != nil {
			return found, err
		}
	}
	return found, u.findElsewhere(ctx, &found)
}

func (u *uninstallCommand) addLease(ctx context.Context, found *uninstallation, o ownedObject, l coordinationv1.Lease) error {
	holder := ""
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	if l.Spec.LeaseDurationSeconds != nil && holder != "" {
		o.lasts = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	if ref := (status.Ref{Kind: status.Lease, Namespace: o.Namespace, Name: l.Name}); o.lasts > record.MaxLeaseDuration {
		lasts, known := u.bySession[ref]
		if !known {
			var err error
			if lasts, err = u.termOf(ctx, ref, o.lasts); err != nil {
				return err
			}
			u.bySession[ref] = lasts
		}
		o.lasts = lasts
	}
	found.add(o, l.ObjectMeta, holder)
	return nil
}

// termOf returns how long the term of a Lease lasts that no row of the report shows, such as one that an election had under
// another name. It returns what the Lease states, unless a session renews that Lease.
func (u *uninstallCommand) termOf(ctx context.Context, ref status.Ref, states time.Duration) (time.Duration, error) {
	leases := u.leasesIn(ref.Namespace)
	e, err := leases.Get(ctx, ref.Name)
	if err != nil || e.Record == nil || !e.Record.Bound() || !e.Record.ThroughSession() {
		return states, err
	}
	s, err := leases.Get(ctx, e.Record.Mark.Session)
	if err != nil || s.Record == nil || s.Record.Mark == nil {
		return e.Record.Mark.Duration, err
	}
	return max(e.Record.Mark.Duration, s.Record.Mark.Duration), nil
}

// findElsewhere lists the locks in other namespaces. The configuration names them: the labels there may be those of a
// group of the same name, with its sessions in yet another namespace.
func (u *uninstallCommand) findElsewhere(ctx context.Context, found *uninstallation) error {
	seen := map[status.Ref]bool{}
	for _, e := range u.selection.Expected {
		for _, ref := range []status.Ref{{Kind: e.Kind, Namespace: e.Namespace, Name: e.Lock}, e.MigrateFrom} {
			if ref.Namespace == "" || seen[ref] {
				continue
			}
			seen[ref] = true
			if err := u.findNamed(ctx, found, ref); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s: %w", ref, err)
			}
		}
	}
	return nil
}

func (u *uninstallCommand) findNamed(ctx context.Context, found *uninstallation, ref status.Ref) error {
	if ref.Kind == status.ConfigMap {
		m, err := u.core.ConfigMaps(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil || m.Labels[lock.GroupLabel] != u.group {
			return err
		}
		return u.findMap(ctx, found, ref.Namespace, *m)
	}
	l, err := u.api.Leases(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil || l.Labels[lock.GroupLabel] != u.group {
		return err
	}
	if err := u.addLease(ctx, found, ownedObject{Kind: status.Lease, Namespace: ref.Namespace}, *l); err != nil {
		return err
	}
	return u.findBeside(ctx, found, ref)
}

// findBeside finds the session that renews a lock in another namespace. The session is in the namespace of the lock.
func (u *uninstallCommand) findBeside(ctx context.Context, found *uninstallation, ref status.Ref) error {
	leases := u.leasesIn(ref.Namespace)
	e, err := leases.Get(ctx, ref.Name)
	if err != nil || e.Record == nil || e.Record.Holder == "" || !e.Record.Bound() || !e.Record.ThroughSession() {
		return err
	}
	s, err := leases.Get(ctx, e.Record.Mark.Session)
	if err != nil || s.Record == nil || s.Record.Holder == "" {
		return err
	}
	revision := strconv.FormatUint(s.Version.Revision, 10)
	o := ownedObject{Kind: status.Lease, Namespace: ref.Namespace, Name: s.Name, What: whatSession, lasts: s.Record.Duration}
	o.version = metav1.Preconditions{UID: (*types.UID)(&s.Version.UID), ResourceVersion: &revision}
	found.beside = append(found.beside, o)
	return nil
}

func (u *uninstallCommand) findMap(ctx context.Context, found *uninstallation, namespace string, m corev1.ConfigMap) error {
	o := ownedObject{Kind: status.ConfigMap, Namespace: namespace, What: "with labels of the group"}
	if namespace == "" && m.Name == rollout.ObjectName(u.group) {
		o.What = "pins and the rollout"
	}
	if m.Labels[lock.ElectionLabel] == "" {
		found.add(o, m.ObjectMeta, "")
		return nil
	}
	store := u.realm.ConfigMaps
	if namespace != "" {
		store = u.realm.In(namespace).ConfigMaps
	}
	e, err := store.Get(ctx, m.Name)
	if err != nil || e.Record == nil {
		return err // without a record: it was deleted meanwhile
	}
	if r := e.Record; r.Holder != "" {
		o.lasts = r.Duration
		if r.Mark != nil {
			o.lasts = max(o.lasts, r.Mark.Duration)
		}
	}
	found.add(o, m.ObjectMeta, e.Record.Holder)
	return nil
}

// add notes an object among those to delete or to keep.
func (f *uninstallation) add(o ownedObject, meta metav1.ObjectMeta, holder string) {
	o.Name, o.version = meta.Name, metav1.Preconditions{UID: &meta.UID, ResourceVersion: &meta.ResourceVersion}
	if election := meta.Labels[lock.ElectionLabel]; election != "" {
		o.What = "lock of " + election
	}
	switch {
	case meta.Labels[lock.ManagedByLabel] != lock.ManagedBy:
		o.Why = "Primacy did not create it"
	case holder != "" && !record.OurForm(holder):
		o.Why = "an elector that is not Primacy holds it"
	default:
		f.Objects = append(f.Objects, o)
		return
	}
	f.Kept = append(f.Kept, o)
}
