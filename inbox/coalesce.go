package inbox

// Coalesce moves unread messages that a newer one makes superfluous to the read
// ones. The newer one has been published before, so at no time is there none.
// Those that somebody is showing are left alone. same says which are meant; only
// ids before that of the newer one are, so that of two that are published at the
// same time one is left.
func (b *Box) Coalesce(newer string, same func(*Message) bool) error {
	ids, err := b.IDs(false)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id >= newer {
			break
		}
		m, err := b.Peek(id, false)
		if err != nil || !same(m) {
			continue // one that cannot be read spoils only itself
		}
		if _, err := b.TryMark(id); err != nil {
			return err
		}
	}
	return nil
}
