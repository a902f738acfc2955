package cli

import "github.com/spf13/cobra"

const exitCodesHelp = `Every command ends with one of these codes. They are a promise: scripts can decide on them.

  0    done
  1    an error: the message says what failed, why, and what to do next
  2    the command line is wrong; nothing was done
  3    there is no such object
  4    refused: a conflict with what is there, or not allowed in the state it is in; nothing was done
  5    timed out while waiting; what was asked for goes on
  6    the server cannot be reached, or its store cannot serve now; trying again later may help
  130  interrupted (Ctrl-C) while waiting; what was asked for goes on

A command that works on several objects goes on after an error; the first error decides on the code.`

// newExitCodesTopic is a page of help, not a command.
func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesHelp}
}
