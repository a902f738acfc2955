package apiserver

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

const (
	vmsURL = root + "/namespaces/{namespace}/virtualmachines"
	vmURL  = vmsURL + "/{name}"
	vmTag  = "Virtual machines"
)

type (
	vmInput struct {
		InNamespace
		Named
	}
	vmCreateInput struct {
		InNamespace
		RawBody []byte `contentType:"application/json"`
	}
	vmUpdateInput struct {
		InNamespace
		Named
		RawBody []byte `contentType:"application/json"`
	}
	vmDeleteInput struct {
		InNamespace
		Named
		Force bool   `query:"force" doc:"Switch the guest off without asking it to shut down."`
		UID   string `query:"uid" doc:"The uid that the VM must have: one of the same name that came later is left alone."`
	}
	vmListInput struct {
		InNamespace
		Selecting
		Watching
	}
	vmListAllInput struct {
		Selecting
		Watching
	}
)

func (s *Server) vmRoutes(api huma.API) {
	vms := objects[v1.VirtualMachine](s, v1.KindVirtualMachine, vmTag)
	registerList(s, api, huma.Operation{Path: vmsURL, OperationID: "listVMs", Summary: "List or watch the VMs of a namespace"}, vms,
		func(in *vmListInput) (string, Watching, filter, error) {
			f, err := in.filter()
			return in.Namespace, in.Watching, f, err
		})
	registerList(s, api, huma.Operation{Path: root + "/virtualmachines", OperationID: "listAllVMs",
		Summary: "List or watch the VMs of all namespaces"}, vms,
		func(in *vmListAllInput) (string, Watching, filter, error) {
			f, err := in.filter()
			return "", in.Watching, f, err
		})

	register(api, huma.Operation{Method: http.MethodGet, Path: vmURL, OperationID: "getVM", Summary: "Read a VM",
		Tags: []string{vmTag}, Errors: []int{http.StatusNotFound}}, nil,
		func(ctx context.Context, in *vmInput) (*output[*v1.VirtualMachine], error) {
			vm, err := s.registry.GetVM(ctx, in.Namespace, in.Name)
			return respond(s, vm, err)
		})

	register(api, huma.Operation{Method: http.MethodPost, Path: vmsURL, OperationID: "createVM", Summary: "Create a VM",
		Tags: []string{vmTag}, DefaultStatus: http.StatusCreated, Errors: writeErrors}, typeOf[v1.VirtualMachine](),
		func(ctx context.Context, in *vmCreateInput) (*output[*v1.VirtualMachine], error) {
			vm, err := decode[v1.VirtualMachine](in.RawBody, v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: in.Namespace})
			if err != nil {
				return nil, err
			}
			vm, err = s.registry.CreateVM(ctx, vm)
			return respond(s, vm, err)
		})

	register(api, huma.Operation{Method: http.MethodPut, Path: vmURL, OperationID: "updateVM",
		Summary: "Replace a VM's spec, labels and annotations", Tags: []string{vmTag}, Errors: append(writeErrors, http.StatusNotFound)},
		typeOf[v1.VirtualMachine](),
		func(ctx context.Context, in *vmUpdateInput) (*output[*v1.VirtualMachine], error) {
			vm, err := decode[v1.VirtualMachine](in.RawBody,
				v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: in.Namespace, Name: in.Name})
			if err != nil {
				return nil, err
			}
			vm, err = s.registry.UpdateVM(ctx, vm)
			return respond(s, vm, err)
		})

	register(api, huma.Operation{Method: http.MethodDelete, Path: vmURL, OperationID: "deleteVM", Summary: "Delete a VM, not its disks",
		Description: "The guest is shut down first: the VM is gone when it is no longer found.",
		Tags:        []string{vmTag}, Errors: []int{http.StatusNotFound, http.StatusConflict}}, nil,
		func(ctx context.Context, in *vmDeleteInput) (*output[*v1.VirtualMachine], error) {
			vm, err := s.registry.DeleteVM(ctx, in.Namespace, in.Name, registry.DeleteOptions{Force: in.Force, UID: in.UID})
			return respond(s, vm, err)
		})
}
