// Package registry holds the objects that users write: virtual machines, hosts, the cluster's configuration and actions.
//
// It exists so that everything users want passes through one place that keeps the rules across objects: one writing VM per disk,
// no MAC address or UUID twice, no edit lost between two clients, a batch of documents all or not at all. It writes specs and
// actions and never a status: that is the core's. It decides nothing about instances and talks to no host.
package registry
