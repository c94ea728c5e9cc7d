select id, content, meta, tree, name, temporal, version, version_hash, created_at, created_by, updated_at
from plain.memory where space = 'default' and tree = 'share.5' and name = 'n500';
