package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this program and of the server, and who leads",
		Args:  args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(a.Out, "Client: %s\n", a.Version)
			v, err := a.client().Version(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "Server: %s\nLeader: %s\n", v.Version, cmp.Or(v.Leader, "none"))
			return nil
		},
	}
}
