// Command primacy elects leaders for many pieces of work among the members of a group, on
// the Kubernetes API, and runs the work where this member leads.
package main

import "github.com/primacy-dev/primacy/cmd/primacy/app"

func main() { app.Main() }
