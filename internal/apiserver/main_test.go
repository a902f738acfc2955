package apiserver_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No connection, watch or server may outlive the test that made it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
