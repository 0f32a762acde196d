// Package ctrl gives each controller of a controller-runtime manager an election of its own.
//
//	config := config.GetConfigOrDie()
//	mgr, err := manager.New(ctrl.Gated(config), manager.Options{})
//	locks, err := lease.NewClient(config) // not gated
//	elections, err := ctrl.New(mgr, election.Config{Group: "things", Member: election.Member{Revision: "v1"}, Locks: lease.In(locks, "things-system")})
//	_, err = elections.Add(ctx, election.Spec{Name: "widgets"}, ctrl.Controller{
//		Watches: []ctrl.Watch{ctrl.For(&v1.Widget{}), ctrl.Owns(&v1.Widget{}, &corev1.ConfigMap{})}, Reconciler: &widgets{mgr.GetClient()},
//	})
//	return mgr.Start(ctx)
//
// A controller works during its terms only, and a term that ends stops that controller: the others, the caches and the
// process go on, and the controller works again in its next term. All members fill their caches.
// Every term has a new controller of controller-runtime, with a queue that begins with all objects, since
// controller-runtime starts a controller once only; its event handlers are removed at the end of the term.
//
// Each Reconcile runs under the term's gate, and the client of a manager with a Gated configuration writes only within a
// Reconcile: a write under a term that is over is not sent. Leave manager.Options.LeaderElection off;
// MigrateFrom comes from managers that had it on.
//
// A Reconcile that ignores its context beyond the stopGrace ends the process, as with any runner.
package ctrl
