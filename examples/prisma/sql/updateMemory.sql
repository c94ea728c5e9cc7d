-- @param {String} $1:id
-- @param {String} $2:versionHash
-- @param {String} $3:content
select me.memory_update(id => $1::uuid, version_hash => $2, content => $3) as answer;
