// Package weather holds no code: its tests let members take part in elections on a real API
// server behind bad networks and odd answers. Each member has a proxy of its own, with faults by
// operation: watches that lag, lists that take longer than a lease, connections that turn into
// black holes, servers that ask to be left alone for a minute. Admission policies of the API
// server itself change what members write, as they do in real clusters.
//
// The runners record their own times, and a judge looks for two at work at once. Nothing else is
// measured: the tests wait for what should happen for as long as it takes on a busy machine.
package weather
