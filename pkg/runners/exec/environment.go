package exec

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// inherited are the variables that a program gets as this process has them. The rest may
// be secrets, or configure primacy itself.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "TZ", "LANG",
	"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT",
}

// environment is the whole environment of a program; own replaces what is inherited.
func environment(own []string, term election.Term, deadline record.Instant) []string {
	env := slices.Clone(own)
	for _, name := range inherited {
		value, set := os.LookupEnv(name)
		replaced := slices.ContainsFunc(own, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if set && !replaced {
			env = append(env, name+"="+value)
		}
	}
	return append(env,
		reserved+"ELECTION="+term.Election,
		reserved+"IDENTITY="+term.Identity,
		reserved+"MEMBER_REVISION="+term.Revision,
		reserved+"TOKEN="+strconv.FormatUint(uint64(term.Token), 10),
		reserved+"DEADLINE="+strconv.FormatInt(int64(deadline), 10),
		reserved+"EXTENSIONS_FD="+strconv.Itoa(extensionsFD),
	)
}
