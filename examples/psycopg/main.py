"""Memories from Python with psycopg 3. DATABASE_URL says where."""
import json
import os

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb


def detail(error: psycopg.Error) -> dict:
    """What the server says to programs: the DETAIL is one JSON object."""
    return json.loads(error.diag.message_detail)


def main() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, row_factory=dict_row) as connection:
        connection.execute(
            "create table tickets (id int generated always as identity primary key, title text not null, memory_id uuid)"
        )

        # Answers are jsonb, which psycopg turns into dictionaries. Jsonb() sends one.
        def call(sql: str, **arguments) -> dict:
            return connection.execute(sql, arguments).fetchone()["answer"]

        made = call(
            "select me.memory_create(content => %(content)s, tree => 'share/app', name => 'deploy-day', meta => %(meta)s)"
            " as answer",
            content="Deploys happen on Tuesdays.",
            meta=Jsonb({"topic": "deploy", "priority": 5}),
        )
        got = call("select me.memory_get_by_path('share/app/deploy-day') as answer")
        assert got == made and got["meta"]["priority"] == 5

        # me.search gives rows, for joins and for cursors of one's own.
        found = connection.execute(
            "select id, name, score from me.search(fulltext => %s, meta => %s, \"limit\" => 5)",
            ("deploys", Jsonb({"topic": "deploy"})),
        ).fetchall()
        assert [str(row["id"]) for row in found] == [made["id"]]

        # A name that is taken: an IntegrityError whose detail says what took it.
        try:
            call("select me.memory_create(content => 'Other.', tree => 'share/app', name => 'deploy-day') as answer")
            raise AssertionError("the name was taken")
        except psycopg.errors.UniqueViolation as error:
            assert detail(error)["code"] == "CONFLICT" and detail(error)["reason"] == "path"

        # A version that somebody else has changed meanwhile: read, merge, try again.
        update = (
            "select me.memory_update(id => %(id)s, version_hash => %(hash)s, content => 'Deploys happen on Wednesdays.')"
            " as answer"
        )
        try:
            call(update, id=made["id"], hash="0" * 32)
            raise AssertionError("the version hash was stale")
        except psycopg.errors.ObjectNotInPrerequisiteState as error:
            now = detail(error)
            assert now["code"] == "CONFLICT" and now["reason"] == "version"
        assert call(update, id=made["id"], hash=now["versionHash"])["version"] == 2

        # One transaction for a row of one's own and a memory: both or neither.
        def open_ticket(title: str) -> None:
            memory = call(
                "select me.memory_create(content => %(title)s, tree => 'share/app/tickets') as answer", title=title
            )
            connection.execute("insert into tickets (title, memory_id) values (%s, %s)", (title, memory["id"]))

        with connection.transaction():
            open_ticket("The pump leaks.")
        with connection.transaction():
            open_ticket("Never seen.")
            raise psycopg.Rollback()
    print("ok")


main()
