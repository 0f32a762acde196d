package main

import (
	"errors"
	"fmt"
	"os"
)

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver"] # its own chores
- level: Metadata
  resources:
  - {group: coordination.k8s.io, resources: [leases]}
  - {group: "", resources: [configmaps]}
- level: None
`

// auditFlags returns the API server's flags for an audit log, none if logFile
// is empty. It opens the log once as a check: otherwise the server would find out
// only at its first request that it cannot write the log.
func auditFlags(logFile, policyFile string) ([]string, error) {
	if logFile == "" {
		return nil, nil
	}
	f, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	if err := errors.Join(f.Close(), writeFile(policyFile, []byte(auditPolicy))); err != nil {
		return nil, fmt.Errorf("set up audit log: %w", err)
	}
	return []string{
		"--audit-policy-file=" + policyFile,
		"--audit-log-path=" + logFile,
		"--audit-log-maxsize=100000", // MB; so large because a rotated log would mislead people who count its lines
	}, nil
}
