package endpoints

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election"
)

// report answers with 200 if all conditions hold, else with 503 and the conditions, in the form of Kubernetes' own
// health endpoints. ?verbose shows the conditions in any case.
func report(name string, conditions func() []election.Condition) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var lines strings.Builder
		verdict, status := "passed", http.StatusOK
		for _, c := range conditions() {
			if c.Err == nil {
				fmt.Fprintf(&lines, "[+]%s ok\n", c.Name)
				continue
			}
			verdict, status = "failed", http.StatusServiceUnavailable
			fmt.Fprintf(&lines, "[-]%s failed: %s\n", c.Name, strings.ReplaceAll(c.Err.Error(), "\n", "; "))
		}
		fmt.Fprintf(&lines, "%s check %s\n", name, verdict)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		text := lines.String()
		if _, verbose := r.URL.Query()["verbose"]; !verbose && status == http.StatusOK {
			text = "ok"
		}
		_, _ = w.Write([]byte(text)) // the client is gone
	})
}
