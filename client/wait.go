package client

import "context"

// wait calls cond with each state of one object, nil while it does not exist, until it is done.
func (r resource[T]) wait(ctx context.Context, c *Client, namespace, name string,
	cond func(*T) (done bool, err error)) (*T, error) {
	var last *T
	for event, err := range r.watch(ctx, c, orDefault(namespace), WatchOptions{Name: name}) {
		if err != nil {
			return last, err
		}
		switch event.Type {
		case Synced:
			if last != nil {
				continue // cond has seen it
			}
		case Deleted:
			last = nil
		default:
			last = event.Object
		}
		if done, err := cond(last); done || err != nil {
			return last, err
		}
	}
	return last, ctx.Err()
}
