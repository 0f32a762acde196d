package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd/api"
)

const contextName = "devcluster"

// kubeconfig returns a kubeconfig with a single context.
func kubeconfig(server string, ca []byte, namespace string, user api.AuthInfo) *api.Config {
	c := api.NewConfig()
	c.Clusters[contextName] = &api.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos[contextName] = &user
	c.Contexts[contextName] = &api.Context{Cluster: contextName, AuthInfo: contextName, Namespace: namespace}
	c.CurrentContext = contextName
	return c
}

// adminKubeconfig returns the administrator's kubeconfig, from the files of the pki folder.
func adminKubeconfig(server, pkiDir string) (*api.Config, error) {
	read := map[string][]byte{caCertFile: nil, adminCertFile: nil, adminKeyFile: nil}
	for name := range read {
		content, err := os.ReadFile(filepath.Join(pkiDir, name))
		if err != nil {
			return nil, fmt.Errorf("read certificates: %w", err)
		}
		read[name] = content
	}
	return kubeconfig(server, read[caCertFile], "default", api.AuthInfo{
		ClientCertificateData: read[adminCertFile],
		ClientKeyData:         read[adminKeyFile],
	}), nil
}
