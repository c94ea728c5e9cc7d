-- $1 space, $2 memories, $3 pieces, $4 how many pieces there are, $5 content versions, $6 lengths, $7 lexemes: one of each
-- for each entry. $8 configuration, $9 whether the memories are new. Unnested side by side in the list of what is selected,
-- they go row by row. The lexical index is told of each memory.
with stored as (
  insert into me.memory_lexeme (
    space, memory_id, piece, pieces, content_version, configuration, length, lexemes)
  select $1, g.id, g.piece, g.pieces, g.content_version, $8, g.length, g.lexemes
  from (
    select unnest($2::uuid[]) as id, unnest($3::int2[]) as piece, unnest($4::int2[]) as pieces,
      unnest($5::int8[]) as content_version, unnest($6::int8[]) as length, unnest($7::tsvector[]) as lexemes
  ) as g
  on conflict (space, memory_id, piece) do update set
    pieces = excluded.pieces, content_version = excluded.content_version, configuration = excluded.configuration,
    length = excluded.length, lexemes = excluded.lexemes
)
insert into me.lexical_tail (space, memory_id, entry, fresh)
select $1, g.id, me._uuid_v7(), $9
from (select unnest($2::uuid[]) as id, unnest($3::int2[]) as piece) as g
where g.piece = 0
