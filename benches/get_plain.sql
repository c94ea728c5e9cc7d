select id, content, meta, tree, name, temporal, version, version_hash, created_at, created_by, updated_at
from plain.memory where space = 'default' and id = '0190a1b2-0000-7000-8000-000000005500';
