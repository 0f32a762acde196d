package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// statusOf returns the API server's answer in err; nil if there is none, or if something else
// on the way, such as a proxy, wrote it.
func statusOf(err error) *metav1.Status {
	var s apierrors.APIStatus
	if !errors.As(err, &s) || apierrors.IsUnexpectedServerError(err) {
		return nil
	}
	status := s.Status()
	return &status
}

// isAbsent says whether an API server itself said that there is no such object.
func isAbsent(err error, name string) bool {
	s := statusOf(err)
	return s != nil && s.Code == http.StatusNotFound && s.Reason == metav1.StatusReasonNotFound &&
		s.Details != nil && s.Details.Name == name
}

// writeError maps the error of a write. It may map to "rejected" only what was certainly not
// written.
func (s *Objects[O]) writeError(err error, replaces record.Version) error {
	if known := s.commonError(err); known != nil {
		return known
	}
	update := replaces.UID != ""
	if status := statusOf(err); status != nil {
		switch status.Code {
		case http.StatusConflict:
			switch {
			case !update && status.Reason == metav1.StatusReasonAlreadyExists:
				return wrap(lock.ErrExists, err)
			case update && saysVanished(status.Message):
				return wrap(lock.ErrVanished, err)
			}
			return wrap(lock.ErrConflict, err)
		case http.StatusNotFound:
			if update {
				return wrap(lock.ErrVanished, err)
			}
			return wrap(lock.ErrDenied, err)
		}
	}
	return wrap(lock.ErrUnknown, err)
}

// saysVanished tells "no object" from "another object" in a conflict. If there is no object the
// server compares our uid with an empty one: for a Lease because an update may create it, for a
// ConfigMap because the server compares uids before it checks that there is an object.
func saysVanished(message string) bool {
	return strings.HasSuffix(strings.TrimSpace(message), "UID in object meta:")
}

// readError maps why a read failed.
func (s *Objects[O]) readError(err error) error {
	if known := s.commonError(err); known != nil {
		return known
	}
	if status := statusOf(err); status != nil && status.Code == http.StatusNotFound {
		return fmt.Errorf("%w: %w (%s)", lock.ErrDenied, err, s.Missing)
	}
	return wrap(lock.ErrUnknown, err)
}

// commonError maps errors that mean the same for reads and writes; nil for others.
func (s *Objects[O]) commonError(err error) error {
	var api apierrors.APIStatus
	if errors.As(err, &api) && api.Status().Code == http.StatusTooManyRequests {
		// Priority and fairness answers in plain text, before the server does anything.
		return &lock.ThrottledError{RetryAfter: max(retryAfter(err), time.Second), Err: err}
	}
	status := statusOf(err)
	if status == nil {
		return nil
	}
	switch status.Code {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: %w (are the credentials valid, and for this cluster?)", lock.ErrDenied, err)
	case http.StatusForbidden:
		if strings.Contains(status.Message, "ValidatingAdmissionPolicy") { // more rights would not help
			return fmt.Errorf("%w: %w (a policy of the cluster refuses it, whatever rights one has)", lock.ErrDenied, err)
		}
		return fmt.Errorf("%w: %w (needed on %s in namespace %s: get, list, watch, create, update)", lock.ErrDenied, err, s.Resource, s.Namespace)
	case http.StatusNotFound:
		if status.Details != nil && status.Details.Kind == "namespaces" {
			return fmt.Errorf("%w: namespace %s does not exist: %w (create it first)", lock.ErrDenied, s.Namespace, err)
		}
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return wrap(lock.ErrInvalid, err)
	}
	return nil
}

func wrap(sentinel, err error) error { return fmt.Errorf("%w: %w", sentinel, err) }

// retryAfter returns how long the server asked us to wait; 0 if it did not.
func retryAfter(err error) time.Duration {
	var api apierrors.APIStatus
	if errors.As(err, &api) && api.Status().Details != nil {
		return time.Duration(api.Status().Details.RetryAfterSeconds) * time.Second
	}
	return 0
}

func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
