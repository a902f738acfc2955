// Holdfast keeps virtual machines running on a fleet of KVM hosts. This package only wires the parts together: the commands are in
// internal/cli, and everything that decides is further down.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-vm/holdfast/internal/cli"
)

// version is set when a release is built (-ldflags "-X main.version=v1.2.3").
var version string

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, cli.Env{
		In:          os.Stdin,
		Out:         os.Stdout,
		Err:         os.Stderr,
		Width:       terminalWidth(os.Stderr),
		Interactive: terminalWidth(os.Stdin) > 0,
		Getenv:      os.Getenv,
		Now:         time.Now,
		Version:     versionOrRevision(),
		Serve:       serve,
	}, os.Args[1:])
}

// terminalWidth is zero when f is no terminal.
func terminalWidth(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 {
		return 80 // a terminal that does not tell, as serial consoles do not
	}
	return int(size.Col)
}

// versionOrRevision is the release's version, or the commit that a development build was made from.
func versionOrRevision() string {
	if version != "" {
		return version
	}
	text, dirty := "development build", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				text = "development build " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = " with changes"
			}
		}
	}
	return text + dirty
}
