package endpoints

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) { devcluster.Main(m) }
