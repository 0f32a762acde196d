//go:build linux

package cgroup

import "os"

// What tests need of this package.
var (
	FolderOf  = folderOf
	Delegated = delegated
)

// EventsFile is the file of a group that says whether any process lives.
const EventsFile = eventsFile

// KillAll kills what lives in the group, and removes it.
func (g *Group) KillAll() { _, _, _ = g.end() }

// EndNoted is End, and returns the note.
func EndNoted(path string) (lived bool, note []byte, err error) {
	g, err := open(path)
	if err != nil {
		return false, nil, err
	}
	return g.end()
}

// What tests of limits need.
var (
	Subdivide = subdivide
	Place     = place
)

// LimitedBy is Work with a limit of any controller.
func LimitedBy(path string, c Controller, file, value string) (folder *os.File, work, within string, err error) {
	return workOf(path, []setting{{c, [][2]string{{file, value}}}})
}
