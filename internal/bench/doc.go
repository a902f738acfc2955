// Package bench measures what Holdfast costs: the production engine and core on a real embedded etcd, against simulated hosts that
// boot at once, so that nothing but Holdfast and its store takes time. "make bench" prints the tables; nothing here asserts a time,
// because machines differ: figures are set against something measured in the same run.
package bench
