-- Gathers the rows that hold a query's terms and scores them when all are known.
create aggregate me._bm25(memory_id uuid, lexemes tsvector, length bigint, pieces smallint, passes boolean, query text) (
  sfunc = me._bm25_add,
  stype = internal,
  finalfunc = me._bm25_finish,
  parallel = restricted
);
comment on aggregate me._bm25(uuid, tsvector, bigint, smallint, boolean, text) is 'Internal: scores what a full text query finds.';
