package cli

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

// DefaultDataDir is where the embedded etcd keeps its data unless told otherwise.
const DefaultDataDir = "/var/lib/holdfast"

// ServerOptions say how to run a server.
type ServerOptions struct {
	// DataDir of the embedded etcd.
	DataDir string
	// EtcdEndpoints of an etcd cluster to use instead; empty means the embedded one.
	EtcdEndpoints []string
	// Socket to listen on.
	Socket string
	// Log of the server.
	Log *slog.Logger
	// Version of the program.
	Version string
}

func newServer(a *app) *cobra.Command {
	o := ServerOptions{}
	level, logFormat := slog.LevelInfo, "text"
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run a server: the API and the control plane",
		Long: `Run a server: the API on a unix socket that only its user may open, and the control plane that keeps virtual machines as
their owners want them. Its state is in an etcd of its own, in the data directory, or in an etcd cluster.

Several servers on one etcd cluster are one control plane: one of them leads, and another takes over when it is gone. The end of
a server stops no guest. SIGTERM and Ctrl-C end it cleanly.`,
		Example: `  holdfast server
  holdfast server --data-dir /srv/holdfast --log-format json
  holdfast server --etcd-endpoints http://etcd1:2379,http://etcd2:2379`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(a.Err, level, logFormat)
			if err != nil {
				return err
			}
			o.Socket, o.Log, o.Version = a.socketPath(), log, a.Version
			return a.Serve(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.DataDir, "data-dir", DefaultDataDir, "`DIR` of the embedded etcd")
	flags.StringSliceVar(&o.EtcdEndpoints, "etcd-endpoints", nil, "use the etcd cluster with these `URLS` instead of an embedded one")
	flags.TextVar(&level, "log-level", slog.LevelInfo, "lowest `LEVEL` that is logged: debug, info, warn or error")
	flags.StringVar(&logFormat, "log-format", "text", "`FORMAT` of the log: text or json")
	a.complete(cmd, "log-level", fixed("debug", "info", "warn", "error"))
	a.complete(cmd, "log-format", fixed("text", "json"))
	cmd.MarkFlagsMutuallyExclusive("data-dir", "etcd-endpoints")
	return cmd
}

func logger(w io.Writer, level slog.Level, logFormat string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level}
	switch logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, usageError("--log-format: there are text and json, not %s", fmt.Sprintf("%q", logFormat))
}
