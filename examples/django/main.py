"""Memories from Python with Django 5. DATABASE_URL says where. One file; in a project the parts go where they belong."""
import json
import os
from urllib.parse import urlsplit

import django
from django.conf import settings

url = urlsplit(os.environ["DATABASE_URL"])
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": url.hostname,
            "PORT": url.port,
            "NAME": url.path[1:],
            "USER": url.username,
            "PASSWORD": url.password,
        }
    },
    INSTALLED_APPS=["django.contrib.postgres"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.db import IntegrityError, OperationalError, connection, models, transaction  # noqa: E402
from django.db.models.fields.json import KeyTextTransform  # noqa: E402
from django.db.models.functions import Cast  # noqa: E402


class Call(models.Func):
    """`me.function(argument => value, …)`: an expression whose value is the answer."""

    output_field = models.JSONField()

    def __init__(self, function, **arguments):
        self.names = list(arguments)
        values = [
            models.Value(value, models.JSONField()) if isinstance(value, dict) else models.Value(value)
            for value in arguments.values()
        ]
        super().__init__(*values, function=f"me.{function}")

    def as_sql(self, compiler, connection, **context):
        parts, params = [], []
        for name, expression in zip(self.names, self.get_source_expressions()):
            sql, more = compiler.compile(expression)
            parts.append(f"{connection.ops.quote_name(name)} => {sql}")
            params.extend(more)
        return f"{self.extra['function']}({', '.join(parts)})", params

    def run(self):
        """Calls it by itself: the answer as a dictionary."""
        with connection.cursor() as cursor:
            compiler = Ticket.objects.none().query.get_compiler("default")
            sql, params = self.as_sql(compiler, connection)
            cursor.execute(f"select {sql}", params)
            return json.loads(cursor.fetchone()[0])


class Memory(models.Model):
    """The view me.memories: what the caller may read. Written by calls, not by save()."""

    id = models.UUIDField(primary_key=True)
    space = models.TextField()
    tree = models.TextField()
    name = models.TextField(null=True)
    content = models.TextField()
    meta = models.JSONField()
    version = models.BigIntegerField()
    version_hash = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        app_label = "app"
        managed = False
        db_table = 'me"."memories'

    @classmethod
    def search(cls, **arguments):
        """`me.search(…)`, best first, as memories that carry their score."""
        call = Call("search", **arguments)
        sql, params = call.as_sql(cls.objects.none().query.get_compiler("default"), connection)
        return cls.objects.raw(
            f"select m.*, found.score from {sql} as found join me.memories as m using (id) order by found.score desc",
            params,
        )


class Ticket(models.Model):
    title = models.TextField()
    memory_id = models.UUIDField(null=True)

    class Meta:
        app_label = "app"
        db_table = "tickets"


def detail(error):
    """What the server says to programs: the DETAIL is one JSON object."""
    return json.loads(error.__cause__.diag.message_detail)


def main():
    with connection.schema_editor() as editor:
        editor.create_model(Ticket)

    made = Call(
        "memory_create",
        content="Deploys happen on Tuesdays.",
        tree="share/app",
        name="deploy-day",
        meta={"topic": "deploy", "priority": 5},
    ).run()
    got = Memory.objects.get(tree="/share/app", name="deploy-day")
    assert str(got.id) == made["id"] and got.meta["priority"] == 5
    assert Memory.objects.filter(meta__contains={"topic": "deploy"}, created_at__isnull=False).count() == 1

    found = list(Memory.search(fulltext="deploys", meta={"topic": "deploy"}, limit=5))
    assert [memory.id for memory in found] == [got.id] and found[0].score > 0

    # A name that is taken. atomic() makes a savepoint, which keeps the rest of a transaction.
    try:
        with transaction.atomic():
            Call("memory_create", content="Other.", tree="share/app", name="deploy-day").run()
        raise AssertionError("the name was taken")
    except IntegrityError as error:
        assert detail(error)["code"] == "CONFLICT" and detail(error)["reason"] == "path"

    # A version that somebody else has changed meanwhile: read, merge, try again.
    def update(version_hash):
        return Call(
            "memory_update", id=got.id, version_hash=version_hash, content="Deploys happen on Wednesdays."
        ).run()

    try:
        with transaction.atomic():
            update("0" * 32)
        raise AssertionError("the version hash was stale")
    except OperationalError as error:
        now = detail(error)
        assert now["code"] == "CONFLICT" and now["reason"] == "version"
    assert update(now["versionHash"])["version"] == 2

    # One transaction for a row of one's own and a memory: both or neither. Calls are expressions, so one INSERT does.
    def open_ticket(title):
        answer = Call("memory_create", content=title, tree="share/app/tickets")
        Ticket.objects.create(title=title, memory_id=Cast(KeyTextTransform("id", answer), models.UUIDField()))

    with transaction.atomic():
        open_ticket("The pump leaks.")
    try:
        with transaction.atomic():
            open_ticket("Never seen.")
            raise InterruptedError
    except InterruptedError:
        pass
    print("ok")


main()
