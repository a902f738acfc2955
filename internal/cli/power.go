package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

// powerOptions are the flags of start, stop and restart.
type powerOptions struct {
	action    v1.ActionType
	force     bool
	requestID string
	// runStrategy to set before a start; empty leaves it as it is.
	runStrategy string
	wait        waitOptions
}

func newStart(a *app) *cobra.Command {
	return a.powerCommand(v1.ActionStart, false, "Start virtual machines, and lift the hold that a stop put on them",
		`Start virtual machines. A start lifts the hold that a stop put on a VM, starts one that is in back-off at once, and one that its
guest has shut down again. It is refused for a VM that is Halted and for one whose run strategy is Once and that has run, unless
--run-strategy sets another. Nothing else changes the run strategy here; a manifest that says otherwise sets it back when it is
applied.`,
		`  holdfast start web
  holdfast start web db --wait --timeout 2m
  holdfast start web --run-strategy Always`)
}

func newStop(a *app) *cobra.Command {
	return a.powerCommand(v1.ActionStop, true, "Stop virtual machines, and hold them off until they are started",
		`Stop virtual machines. The guest is asked to shut itself down, and switched off when it has not done so after the VM's grace
period. The VM is then held off, whatever its run strategy, until somebody starts it.`,
		`  holdfast stop web --wait
  holdfast stop web --force`)
}

func newRestart(a *app) *cobra.Command {
	return a.powerCommand(v1.ActionRestart, true, "Stop virtual machines and start new instances of them",
		`Restart virtual machines: the instance is stopped as by "holdfast stop", and a new one started, on whichever host is best then.
A restart of a VM without an instance is a start; it is refused for a VM that is held off by a stop, that is Halted, or whose run
strategy is Once, because it would run twice.`,
		`  holdfast restart web --wait`)
}

func (a *app) powerCommand(action v1.ActionType, canForce bool, short, long, example string) *cobra.Command {
	o := &powerOptions{action: action}
	cmd := &cobra.Command{
		Use:   string(action) + " VM...",
		Short: short,
		Long: long + `

The request is durable once this command says so: it takes effect exactly once, whatever happens to the server.`,
		Example:           example,
		Args:              args(1, -1, "the name of a virtual machine"),
		ValidArgsFunction: a.completeNames(&vmKind, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			names := make([]string, len(words))
			for i, w := range words {
				n, err := nameOf(&vmKind, w)
				if err != nil {
					return err
				}
				names[i] = n
			}
			if o.requestID != "" && len(names) > 1 {
				return usageError("--request-id names one request: give one virtual machine")
			}
			return a.power(cmd.Context(), o, names)
		},
	}
	if canForce {
		cmd.Flags().BoolVar(&o.force, "force", false, "switch the guest off now, without asking it to shut down: as pulling its plug")
	}
	if action == v1.ActionStart {
		cmd.Flags().StringVar(&o.runStrategy, "run-strategy", "", "set this run `STRATEGY` first: "+strings.Join(runStrategies, ", "))
		a.complete(cmd, "run-strategy", fixed(runStrategies...))
	}
	cmd.Flags().StringVar(&o.requestID, "request-id", "",
		"`NAME` of this request: sent again, by whomever, it has its effect once (default: a random one)")
	o.wait.flags(cmd)
	return cmd
}

// runStrategies under which a VM can be started.
var runStrategies = []string{string(v1.RunAlways), string(v1.RunRerunOnFailure), string(v1.RunManual), string(v1.RunOnce)}

// power asks for the action on every VM, and then waits for all of them side by side.
func (a *app) power(ctx context.Context, o *powerOptions, names []string) error {
	c := a.client()
	errs := make([]error, len(names))
	var asked []*request
	for i, name := range names {
		r, err := a.ask(ctx, c, o, name)
		if errs[i] = err; err != nil {
			if client.IsUnavailable(err) || ctx.Err() != nil {
				return errors.Join(errs...)
			}
			continue
		}
		r.err = &errs[i]
		asked = append(asked, r)
	}
	ctx, cancel := o.wait.context(ctx)
	defer cancel()
	p := a.progress(asked)
	var waits sync.WaitGroup
	for _, r := range asked {
		waits.Go(func() { *r.err = a.seeThrough(ctx, c, o, r, p) })
	}
	waits.Wait()
	for _, r := range asked {
		if *r.err == nil {
			fmt.Fprintf(a.Out, "vm/%s%s%s\n", r.name, r.result, r.also)
		}
	}
	return errors.Join(errs...)
}

// request is one action that the server has accepted.
type request struct {
	name   string
	action *v1.Action
	// before is the instance there was when it was asked for; empty when there was none.
	before string
	// result is what to say behind the name when all went well.
	result string
	// also is what else was done, to be said behind the result.
	also string
	err  *error
}

func (a *app) ask(ctx context.Context, c *client.Client, o *powerOptions, name string) (*request, error) {
	vm, err := c.GetVM(ctx, a.namespaceFor(), name)
	if err != nil {
		return nil, err
	}
	r := &request{name: name}
	if strategy := v1.RunStrategy(o.runStrategy); strategy != "" && strategy != vm.Spec.EffectiveRunStrategy() {
		vm.Spec.RunStrategy, vm.Spec.Running = strategy, nil
		if vm, err = c.UpdateVM(ctx, vm); err != nil {
			return nil, fmt.Errorf("set the run strategy of vm/%s: %w", name, err)
		}
		r.also = fmt.Sprintf("; its run strategy is %s now", strategy)
	}
	if vm.Status.Instance != nil {
		r.before = vm.Status.Instance.ID
	}
	r.action, err = c.PostAction(ctx, a.namespaceFor(), name, v1.ActionRequest{Type: o.action, RequestID: o.requestID, Force: o.force})
	return r, err
}

// seeThrough waits until the control plane has answered, and with --wait until what was asked for is so.
func (a *app) seeThrough(ctx context.Context, c *client.Client, o *powerOptions, r *request, p teller) error {
	answerCtx, cancel := ctx, context.CancelFunc(func() {})
	if !o.wait.on {
		answerCtx, cancel = context.WithTimeout(ctx, a.AnswerTimeout)
	}
	defer cancel()
	action, err := c.WaitAction(answerCtx, a.namespaceFor(), r.action.Metadata.Name)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && !o.wait.on:
		r.result = fmt.Sprintf(": %s accepted; the control plane has not carried it out yet (request %s)", o.action, r.action.Metadata.Name)
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return timedOut("vm/%s: the %s is accepted (request %s), but the control plane has not carried it out within %s. "+
			"It goes on; %q shows whether it was.", r.name, o.action, r.action.Metadata.Name, o.wait.timeout, "holdfast get actions")
	case err != nil:
		return fmt.Errorf("vm/%s: wait for the answer to the %s: %w", r.name, o.action, err)
	case action.Status.Phase == v1.ActionRefused:
		return refused("vm/%s: the %s was refused: %s%s", r.name, o.action, action.Status.Message, a.wayOut(o.action, r.name, action.Status.Reason))
	}
	if !o.wait.on {
		r.result = accepted(o, action)
		return nil
	}
	return a.awaitVM(ctx, c, o, r, p)
}

// wayOut is the command that does what was refused for the core's reason; empty when there is none.
func (a *app) wayOut(action v1.ActionType, name, reason string) string {
	strategy := v1.RunAlways
	switch {
	case reason == "Over" && action == v1.ActionStart:
		strategy = v1.RunManual
	case reason != "Halted":
		return ""
	}
	command := fmt.Sprintf("holdfast start %s --run-strategy %s", name, strategy)
	if namespace := a.namespaceFor(); namespace != "" && namespace != v1.DefaultNamespace {
		command += " -n " + namespace
	}
	return fmt.Sprintf("; %q does both", command)
}

// accepted says what an action that has taken effect set going.
func accepted(o *powerOptions, action *v1.Action) string {
	if action.Status.Message != "" {
		return ": " + action.Status.Message
	}
	return map[v1.ActionType]string{v1.ActionStart: " starting", v1.ActionStop: " stopping", v1.ActionRestart: " restarting"}[o.action]
}
