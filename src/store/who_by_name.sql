select p.id, p.kind = 'user', p.cluster
from me.principal as p
where p.name = $1 and p.role_oid is not null
