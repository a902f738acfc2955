package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/explain"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
	"github.com/holdfast-vm/holdfast/internal/cli/progress"
)

// waitOptions are the flags of commands that can wait.
type waitOptions struct {
	on      bool
	timeout time.Duration
}

func (o *waitOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.on, "wait", false, "wait until it is so, and show how it is getting on")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --wait: give up waiting after this long; zero means never")
}

// context bounds the waiting; without --wait it changes nothing.
func (o *waitOptions) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if !o.on || o.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, o.timeout)
}

func timedOut(format string, args ...any) error {
	return &failure{code: ExitTimeout, text: fmt.Sprintf(format, args...)}
}

// teller shows progress.
type teller interface{ Say(name, line string) }

func (a *app) progress(requests []*request) teller {
	names := make([]string, len(requests))
	for i, r := range requests {
		names[i] = "vm/" + r.name
	}
	return progress.New(a.Err, a.Width, names...)
}

// awaitVM waits until an applied action has led where it was to lead.
func (a *app) awaitVM(ctx context.Context, c *client.Client, o *powerOptions, r *request, p teller) error {
	goal := goals[o.action]
	vm, err := c.WaitVM(ctx, a.namespaceFor(), r.name, func(vm *v1.VirtualMachine) (bool, error) {
		if vm == nil || vm.Metadata.UID != r.action.Spec.VMUID {
			return false, notFound("vm/%s was deleted while waiting", r.name)
		}
		done, err := goal(vm, r)
		if !done && err == nil {
			p.Say("vm/"+r.name, a.briefly(vm))
		}
		return done, err
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return a.gaveUp(c, vm, r.name, o.wait.timeout)
	case errors.Is(err, errOver):
		return failed("vm/%s: %s", r.name, a.whyOf(vm))
	case err != nil:
		return err
	}
	r.result = map[v1.ActionType]string{v1.ActionStart: " running", v1.ActionStop: " stopped", v1.ActionRestart: " running again"}[o.action]
	if host := hostOf(vm); host != "" {
		r.result += " on " + host
	}
	return nil
}

// errOver: what was waited for will not come any more.
var errOver = errors.New("over")

// goals say whether a VM is where an action was to lead it. errOver means that it will not get there.
var goals = map[v1.ActionType]func(*v1.VirtualMachine, *request) (bool, error){
	v1.ActionStart: func(vm *v1.VirtualMachine, _ *request) (bool, error) {
		return runs(vm), ifOver(vm)
	},
	v1.ActionStop: func(vm *v1.VirtualMachine, _ *request) (bool, error) {
		if startedAgain(vm) {
			return false, errOver
		}
		return vm.Status.Instance == nil, nil
	},
	v1.ActionRestart: func(vm *v1.VirtualMachine, r *request) (bool, error) {
		return runs(vm) && vm.Status.Instance.ID != r.before, ifOver(vm)
	},
}

// runs reports whether an instance runs and is meant to.
func runs(vm *v1.VirtualMachine) bool {
	i := vm.Status.Instance
	return i != nil && i.Phase == v1.PhaseRunning && i.Stop == nil
}

// isOff reports whether the VM has no instance and nothing is going to give it one. Of a spec that the control plane has not looked at
// yet it is not known.
func isOff(vm *v1.VirtualMachine) bool {
	st := &vm.Status
	return st.Instance == nil && st.Waiting == nil && st.ObservedGeneration >= vm.Metadata.Generation && !explain.WantedOn(vm)
}

// startedAgain reports whether somebody has started a VM since it was stopped: the stop's hold is lifted, and it has another instance
// or gets one. An instance that is being stopped still is waited for all the same.
func startedAgain(vm *v1.VirtualMachine) bool {
	i := vm.Status.Instance
	return explain.WantedOn(vm) && (i == nil || i.Stop == nil)
}

func ifOver(vm *v1.VirtualMachine) error {
	if isOff(vm) {
		return errOver
	}
	return nil
}

// briefly is a VM's state on one line.
func (a *app) briefly(vm *v1.VirtualMachine) string {
	line := vmStatus(vm, a.Now())
	if host := hostOf(vm); host != "" {
		line += " on " + host
	}
	if i := vm.Status.Instance; i != nil && i.Stop != nil && !i.Stop.Force {
		line += ", switched off at " + human.Clock(i.Stop.Deadline, a.Now()) + " at the latest"
	}
	if w := vm.Status.Waiting; w != nil && w.Message != "" {
		line += ": " + w.Message
	}
	return line
}

func (a *app) whyOf(vm *v1.VirtualMachine) string {
	answer := explain.VM(vm, explain.View{Now: a.Now()})
	return fmt.Sprintf("%s %s %s", answer.State, answer.Why, answer.Next)
}

// gaveUp says where things stand when the time is over. It asks the server once more, with a little time of its own.
func (a *app) gaveUp(c *client.Client, vm *v1.VirtualMachine, name string, after time.Duration) error {
	if vm == nil {
		return timedOut("vm/%s: gave up waiting after %s; the server did not say how it is. What was asked for goes on.", name, after)
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	view := a.explainView(ctx, c)
	answer := explain.VM(vm, view)
	return timedOut("vm/%s: gave up waiting after %s; what was asked for goes on.\n  State: %s\n  Why:   %s\n  Next:  %s",
		name, after, answer.State, answer.Why, answer.Next)
}

// explainView reads what explanations need beside a VM. What cannot be read is left out: the VM itself is the answer.
func (a *app) explainView(ctx context.Context, c *client.Client) explain.View {
	view := explain.View{Now: a.Now()}
	if list, err := c.ListHosts(ctx, client.ListOptions{}); err == nil {
		view.Hosts = explain.Hosts{}
		for i := range list.Items {
			view.Hosts[list.Items[i].Metadata.Name] = &list.Items[i]
		}
	}
	if version, err := c.Version(ctx); err == nil {
		view.Leaderless = version.Leader == ""
	}
	return view
}
