// Command primacy elects a leader for each of many pieces of work, among the members of a group, on
// the Kubernetes API. It runs the work for which this member leads.
package main

import "github.com/primacy-dev/primacy/cmd/primacy/app"

func main() { app.Main() }
