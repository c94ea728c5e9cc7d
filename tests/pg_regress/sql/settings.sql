-- A setting that does not exist is an error, not a value that nobody reads.
begin;
select me.format('1') is not null as loaded;
savepoint s;
set local me.spce = 'x';
rollback to s;
select set_config('me.Principals', 'x', true);
rollback to s;
set local me.space = 'x';
rollback;
