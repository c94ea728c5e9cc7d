-- docs/catalogue.md, from a database that has the extension and nothing in it. For psql -XqAt, as a superuser.
-- Nothing is left behind.
\set ON_ERROR_STOP on
set client_min_messages = error;
set search_path = pg_catalog;
begin;

\echo '# Catalogue'
\echo
\echo 'What the extension puts into a database, as the database itself describes it. For examples and explanations see the'
\echo '[reference](reference.md). `scripts/catalogue write` makes this page, and a test holds it against a fresh database.'
\echo
\echo '## Functions'
\echo
\echo 'Arguments can be given by name, and NULL means "not given". *Everybody* may execute a function unless it says *by grant*;'
\echo 'what a caller may then do is decided inside. A *reading* function writes nothing and works on a standby.'
\echo

select format(E'### me.%1$s\n\n%2$s\n\n`me.%1$s(%3$s) → %4$s`\n\n%5$s, %6$s.\n',
    p.proname,
    obj_description(p.oid, 'pg_proc'),
    pg_get_function_identity_arguments(p.oid),
    pg_get_function_result(p.oid),
    case p.provolatile when 'v' then 'Writing' when 's' then 'Reading' else 'Reading nothing stored' end,
    case when exists (select from aclexplode(p.proacl) as a where a.grantee = 0) then 'everybody' else 'by grant' end)
from pg_proc as p
where p.pronamespace = 'me'::regnamespace and p.proname not like '\_%'
order by p.proname collate "C";

\echo '## Views'
\echo
\echo 'Each shows what the caller may read, like the functions do.'
\echo

select format(E'### me.%s\n\n%s\n\n| column | type | meaning |\n|---|---|---|\n%s\n',
    c.relname,
    obj_description(c.oid, 'pg_class'),
    string_agg(format('| `%s` | %s | %s |', a.attname, format_type(a.atttypid, a.atttypmod),
        coalesce(col_description(c.oid, a.attnum), '')), E'\n' order by a.attnum))
from pg_class as c
join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'me'::regnamespace and c.relkind = 'v'
group by c.oid, c.relname
order by c.relname collate "C";

\echo '## Tables'
\echo
\echo 'Closed to everybody but the owner of the extension, and carried by every dump. Named here for administrators, who see them in'
\echo '`pg_stat_user_tables`; they change from version to version.'
\echo
\echo '| table | rows |'
\echo '|---|---|'

select format('| `me.%s` | %s |', c.relname, obj_description(c.oid, 'pg_class'))
from pg_class as c
where c.relnamespace = 'me'::regnamespace and c.relkind in ('r', 'p')
order by c.relname collate "C";

\echo
\echo '## Settings'
\echo
\echo 'Who: *anybody* in a session, a *superuser* there, or the *configuration* of the server, which a reload reads again. Settings'
\echo 'that name the file of a secret are hidden from `pg_settings`, and so from this list: see the [README](../README.md#settings).'
\echo
\echo '| setting | default | range | who | meaning |'
\echo '|---|---|---|---|---|'

-- The library brings its settings along when it is loaded.
do $$ begin perform me.space_list(); end $$;

select format('| `%s` | %s | %s | %s | %s |',
    name,
    case when boot_val = '' or boot_val is null then 'empty' else '`' || boot_val || coalesce(unit, '') || '`' end,
    case when vartype in ('integer', 'real') then min_val || ' to ' || max_val
        when vartype = 'enum' then array_to_string(enumvals, ', ')
        when vartype = 'bool' then 'on, off' else 'text' end,
    case context when 'user' then 'anybody' when 'superuser' then 'superuser' when 'sighup' then 'configuration' else context end,
    concat_ws(' ', short_desc, extra_desc))
from pg_settings
where name like 'me.%'
order by name collate "C";

\echo
\echo '## Errors'
\echo
\echo 'What a refused call says: a code in the DETAIL, which is one JSON object, with its SQLSTATE and the other keys of the DETAIL.'
\echo 'These were provoked on the server that made this page; `EMBEDDING_FAILED` (58000), `UPDATE_REQUIRED` (55000) and `INTERNAL` (XX000),'
\echo 'which mean that an endpoint failed, that `alter extension memory_engine update` is due, and that there is a bug, were not.'
\echo
\echo '| code | SQLSTATE | other keys | message | hint |'
\echo '|---|---|---|---|---|'

create function pg_temp.refusal(sql text) returns text language plpgsql as $$
declare
    state text;
    message text;
    detail text;
    hint text;
begin
    execute sql;
    raise exception 'had to be refused: %', sql;
exception when others then
    get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail,
        hint = pg_exception_hint;
    if detail like '{%' then
        return format('| `%s` | %s | %s | %s | %s |', detail::jsonb ->> 'code', state,
            (select string_agg(case when key in ('reason', 'rule', 'kind') then format('`%s`: `%s`', key, value #>> '{}')
                else format('`%s`', key) end, ', ' order by key collate "C")
             from jsonb_each(detail::jsonb) where key <> 'code'),
            replace(message, '|', '\|'), replace(hint, '|', '\|'));
    end if;
    raise;
end $$;

do $$
begin
    perform me.memory_create('text', 'share/a', name => 'n', id => '00000000-0000-7000-8000-000000000001');
    perform me.space_create('closed');
    create role catalogue_reader;
    perform me.space_member_add('catalogue_reader'), me.access_grant('catalogue_reader', 'share', 'read');
end $$;

select pg_temp.refusal(sql) from (values
    (1, 'select me.memory_create()'),
    (2, 'select me.memory_create(''text'', ''a b'')'),
    (3, 'select me.memory_get_by_path(''share/nothing'')'),
    (4, 'select me.memory_create(''text'', ''share/b'', id => ''00000000-0000-7000-8000-000000000001'')'),
    (5, 'select me.memory_create(''text'', ''share/a'', name => ''n'')'),
    (6, 'select me.space_create(''closed'')'),
    (7, 'select me.memory_update(''00000000-0000-7000-8000-000000000001'', repeat(''0'', 32), content => ''x'')'),
    (9, 'select me.space_member_remove(current_user, space => ''closed'')'),
    (10, 'select me.memory_search(semantic => ''x'')'),
    (11, 'select me.capsule_get(''cap-9'')')
) as cases (place, sql)
order by place;

set local role catalogue_reader;
select pg_temp.refusal(sql) from (values
    (1, 'select me.memory_create(''text'', ''share/a'')'),
    (2, 'select me.memory_count(''share'', space => ''closed'')'),
    (3, 'select me.space_member_list()')
) as cases (place, sql)
order by place;

set local role none;
set transaction read only;
select pg_temp.refusal('select me.memory_create(''text'', ''share/a'')');

rollback;
