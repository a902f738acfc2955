// Package engine does what the core decides.
//
// It exists so that the core can stay pure: the engine owns one core for one term of leadership, tells it what the store and the
// hosts show, makes its decisions durable, and only then carries them out. Its own rules are few: persist, then act; any failed
// write, lost watch or lost lease ends the term, and everything of it is thrown away and rebuilt from the store; no host delays
// another; time-outs are results, not decisions.
//
// Nothing here decides about a VM or a host: a rule that needs to know what an instance is belongs in the core. docs/engine.md
// tells how the parts work together.
package engine
