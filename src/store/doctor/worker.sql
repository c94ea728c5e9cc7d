-- $1 whether the library is preloaded, $2 whether me.worker is on, $3 whether this is a standby.
select v.status, v.detail, v.remedy
from (values
  (not $3 and not $1, 'warning', 'the library is not preloaded: nothing is embedded, sealed or pruned unless somebody calls for it',
    'Set shared_preload_libraries = ''memory_engine'' and restart, or call me.embed_pending() and me.audit_seal() from a scheduler.'),
  (not $3 and $1 and not $2, 'warning', 'me.worker is off',
    'Set me.worker = on and reload the configuration.'),
  (not $3 and $1 and not exists (
      select from pg_catalog.pg_stat_activity as a where a.backend_type = 'memory_engine launcher'),
    'error', 'the launcher does not run',
    'Raise max_worker_processes and restart; the server''s log says why it did not start.')
) as v (wrong, status, detail, remedy)
where v.wrong
