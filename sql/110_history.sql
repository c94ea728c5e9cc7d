-- What reads of the history need besides its tables.

-- A range of trees is a subtree, and what was last seen at a path is found by it. A btree, not GiST: see docs/history.md.
create index memory_event_tree_idx on me.memory_event (space, tree, name);
