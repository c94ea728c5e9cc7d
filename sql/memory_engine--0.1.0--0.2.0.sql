-- Whatever changes the SQL of the extension is added here too, with the same text (see docs/development.md): tests/upgrade.rs names what is missing.

-- Changes nothing but the row: sessions that are open look at the version again when a function changes.
alter function me.space_list() called on null input;

alter table me.space add column lexeme_configuration int;
comment on column me.space.lexeme_configuration is 'Under which configuration all its memories were last found indexed for full text search; null before anybody looked.';
