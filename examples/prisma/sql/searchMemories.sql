-- @param {String} $1:words
-- @param {Json} $2:meta?
select id, tree, name, content, meta, score
from me.search(fulltext => $1, meta => $2, "limit" => 5)
order by score desc;
