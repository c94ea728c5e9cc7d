-- Settings and sessions of the server that get in the way.
select v.status, v.detail, v.remedy
from (
  select 'warning' as status, 'autovacuum is off: deleted content stays on disk and searches slow down' as detail,
    'Set autovacuum = on.' as remedy
  where pg_catalog.current_setting('autovacuum') = 'off'
  union all
  select 'warning', 'track_activities is off: writers hold seals back until they end', 'Set track_activities = on.'
  where pg_catalog.current_setting('track_activities') = 'off'
  union all
  select 'warning', pg_catalog.format('prepared transaction %L is %s minutes old: it holds back seals and vacuum', x.gid,
      pg_catalog.floor(extract(epoch from pg_catalog.clock_timestamp() - x.prepared) / 60)),
    'COMMIT PREPARED or ROLLBACK PREPARED it.'
  from pg_catalog.pg_prepared_xacts as x
  where x.database = pg_catalog.current_database() and x.prepared < pg_catalog.clock_timestamp() - interval '1 hour'
  union all
  select 'warning', pg_catalog.format('table me.%I has %s dead rows beside %s live ones', t.relname, t.n_dead_tup, t.n_live_tup),
    pg_catalog.format('VACUUM me.%I; and see what keeps autovacuum from it.', t.relname)
  from pg_catalog.pg_stat_user_tables as t
  where t.schemaname = 'me' and t.n_dead_tup > 100000 and t.n_dead_tup > t.n_live_tup
) as v
order by 2
