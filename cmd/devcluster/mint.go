package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// mintOptions are the flags of devcluster mint.
type mintOptions struct {
	kubeconfig     string
	namespace      string
	serviceAccount string
	out            string
	duration       time.Duration
}

func newMintCommand() *cobra.Command {
	var o mintOptions
	c := &cobra.Command{
		Use:   "mint --kubeconfig ADMIN --namespace NAMESPACE --serviceaccount NAME --out FILE",
		Short: "Write a kubeconfig for a service account, which is created if it does not exist",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return mint(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of an administrator")
	f.StringVar(&o.namespace, "namespace", "", "the service account's namespace, created if it does not exist")
	f.StringVar(&o.serviceAccount, "serviceaccount", "", "the service account")
	f.StringVar(&o.out, "out", "", "file to write, with mode 0600")
	f.DurationVar(&o.duration, "duration", 24*time.Hour, "how long the token is valid, at least 10m")
	for _, name := range []string{"kubeconfig", "namespace", "serviceaccount", "out"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return c
}

// mint gets a token of the service account from the TokenRequest API and
// writes it to a kubeconfig for the same server.
func mint(ctx context.Context, o mintOptions) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read --kubeconfig: %w", err)
	}
	if err := rest.LoadTLSFiles(cfg); err != nil {
		return fmt.Errorf("read --kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("read --kubeconfig: %w", err)
	}
	if err := ensureServiceAccount(ctx, client, o.namespace, o.serviceAccount); err != nil {
		return err
	}
	token, err := client.CoreV1().ServiceAccounts(o.namespace).CreateToken(ctx, o.serviceAccount, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(o.duration.Seconds()))},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("request token: %w", err)
	}
	content, err := clientcmd.Write(*kubeconfig(cfg.Host, cfg.CAData, o.namespace, api.AuthInfo{Token: token.Status.Token}))
	if err == nil {
		err = writeFile(o.out, content)
	}
	if err != nil {
		return fmt.Errorf("write --out: %w", err)
	}
	return nil
}

func ensureServiceAccount(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace: %w", err)
	}
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create service account: %w", err)
	}
	return nil
}
