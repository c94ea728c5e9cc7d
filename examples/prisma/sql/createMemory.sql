-- @param {String} $1:content
-- @param {String} $2:tree
-- @param {String} $3:name?
-- @param {Json} $4:meta?
select me.memory_create(content => $1, tree => $2, name => $3, meta => $4) as answer;
