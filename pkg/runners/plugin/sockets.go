package plugin

import (
	"fmt"
	"os"
	"path/filepath"
)

// longestSocket is the longest path of a socket: 108 bytes with the last 0, by unix(7).
const longestSocket = 107

// makeSockets makes the folder of a plugin's sockets, which no other user may enter, in the first of
// the folders whose path is short enough.
func makeSockets(below ...string) (string, error) {
	for _, parent := range below {
		if len(filepath.Join(parent, "primacy-plugin-4294967295", "plugin4294967295")) <= longestSocket {
			folder, err := os.MkdirTemp(parent, "primacy-plugin-")
			if err != nil {
				return "", fmt.Errorf("folder for its sockets: %w", err)
			}
			return folder, nil
		}
	}
	return "", fmt.Errorf("folder for its sockets: none of %q is short enough for the path of a socket, which has at most %d bytes (set TMPDIR to a shorter one)", below, longestSocket)
}
