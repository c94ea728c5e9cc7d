-- $18 trees and $19 names of what is kept.
and m.name is not null
and not exists (
  select from unnest($18::text[], $19::text[]) as k (tree, name)
  where k.tree = m.tree::text and k.name = m.name)
order by m.tree, m.name
