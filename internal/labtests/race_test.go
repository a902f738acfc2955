//go:build race

package labtests

var raceFlag = []string{"-race"}
