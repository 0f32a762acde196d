package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files of the pki folder. One authority signs the server's certificate and
// the administrator's. The authority's own key is used once and not stored.
const (
	caCertFile     = "ca.crt"
	serverCertFile = "server.crt"
	serverKeyFile  = "server.key"
	adminCertFile  = "admin.crt"
	adminKeyFile   = "admin.key"
	saKeyFile      = "service-accounts.key"
)

const certValidity = 10 * 365 * 24 * time.Hour

// ensurePKI creates the folder with all certificates and keys unless it exists.
func ensurePKI(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		for _, name := range []string{caCertFile, serverCertFile, serverKeyFile, adminCertFile, adminKeyFile, saKeyFile} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("find certificates: %w (remove folder %s to have all made anew, and with them the kubeconfigs)", err, dir)
			}
		}
		return nil
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "pki-*")
	if err != nil {
		return fmt.Errorf("create certificates: %w", err)
	}
	// The rename makes the folder complete or absent.
	if err = createPKI(tmp, time.Now()); err == nil {
		err = os.Rename(tmp, dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("create certificates: %w", err), os.RemoveAll(tmp))
	}
	return nil
}

func createPKI(dir string, now time.Time) error {
	ca, err := newAuthority(dir, now)
	if err != nil {
		return err
	}
	err = ca.issue(serverCertFile, serverKeyFile, x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
	})
	if err != nil {
		return err
	}
	err = ca.issue(adminCertFile, adminKeyFile, x509.Certificate{
		Subject:     pkix.Name{CommonName: "devcluster-admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	_, err = newKey(filepath.Join(dir, saKeyFile))
	return err
}

// authority signs certificates and writes them to a folder.
type authority struct {
	dir  string
	now  time.Time
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(dir string, now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "devcluster-ca"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	a := &authority{dir: dir, now: now, key: key, cert: template}
	der, err := a.sign(caCertFile, template, &key.PublicKey)
	if err != nil {
		return nil, err
	}
	// Read the certificate back for its computed key id: strict clients want that in issued certificates.
	a.cert, err = x509.ParseCertificate(der)
	return a, err
}

func (a *authority) issue(certFile, keyFile string, template x509.Certificate) error {
	key, err := newKey(filepath.Join(a.dir, keyFile))
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	_, err = a.sign(certFile, &template, &key.PublicKey)
	return err
}

func (a *authority) sign(file string, template *x509.Certificate, public *ecdsa.PublicKey) (der []byte, err error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = a.now.Add(-time.Hour) // clocks of clients may be behind
	template.NotAfter = a.now.Add(certValidity)
	if der, err = x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key); err != nil {
		return nil, err
	}
	return der, writePEM(filepath.Join(a.dir, file), "CERTIFICATE", der)
}

func newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(file, "EC PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
