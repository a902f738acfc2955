// Package sim simulates hosts: a fleet of libvirts with guests, latencies and faults, behind the hypervisor port.
//
// It exists so that the production engine and core can live through restart storms, frozen daemons and power cuts in a test, in
// virtual time (testing/synctest) or in real time. It behaves as libvirt was seen to behave, the unpleasant parts included: a
// call that a frozen daemon has received is carried out when it thaws, whoever sent it and whether or not they still live.
//
// A running domain that nobody touches costs nothing here: no goroutine, no timer. What happens is told to an observer from
// outside (Options.OnChange), so that checks need not believe anybody's status.
//
// Nothing here decides anything for Holdfast, and nothing here may know the engine, the core or the store.
package sim
