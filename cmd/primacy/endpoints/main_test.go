package endpoints

import (
	"os"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(clientsVariable); text != "" {
		asClients(text)
		return
	}
	devcluster.Main(m)
}
