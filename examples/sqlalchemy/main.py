"""Memories from Python with SQLAlchemy 2. DATABASE_URL says where."""
import json
import os
import uuid

from sqlalchemy import MetaData, Table, column, create_engine, func, literal, literal_column, select
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.types import Double, Text, Uuid


def arguments(**given):
    """Named arguments, `content => :content`, with the types PostgreSQL has to see."""
    types = {dict: JSONB, list: ARRAY(Text), uuid.UUID: Uuid}
    return [
        literal_column(f'"{name}"').op("=>")(literal(value, types.get(type(value))) if type(value) in types else value)
        for name, value in given.items()
    ]


def call(function: str, **given):
    """`me.function(…)`, whose answer is a dictionary."""
    return getattr(func.me, function)(*arguments(**given), type_=JSONB)


def search(**given):
    """`me.search(…)` as a table to select from and to join with."""
    return func.me.search(*arguments(**given)).table_valued(
        column("id", Uuid), column("tree", Text), column("name", Text), column("content", Text),
        column("meta", JSONB), column("score", Double), name="found",
    )  # fmt: skip


def detail(error) -> dict:
    """What the server says to programs: the DETAIL is one JSON object."""
    return json.loads(error.orig.diag.message_detail)


class Base(DeclarativeBase):
    pass


class Ticket(Base):
    __tablename__ = "tickets"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    memory_id: Mapped[uuid.UUID | None]


def main() -> None:
    engine = create_engine(os.environ["DATABASE_URL"].replace("postgres://", "postgresql+psycopg://"))
    Base.metadata.create_all(engine)

    # The view, read from the catalogue; it is not among the tables that create_all makes.
    memories = Table("memories", MetaData(), schema="me", autoload_with=engine)

    with Session(engine) as session:
        made = session.scalar(
            select(
                call(
                    "memory_create",
                    content="Deploys happen on Tuesdays.",
                    tree="share/app",
                    name="deploy-day",
                    meta={"topic": "deploy", "priority": 5},
                )
            )
        )
        got = session.scalar(select(call("memory_get_by_path", path="share/app/deploy-day", select=["id", "meta.priority"])))
        assert got["id"] == made["id"] and got["meta"] == {"priority": 5}
        session.commit()

        found = search(fulltext="deploys", meta={"topic": "deploy"}, limit=5)
        rows = session.execute(
            select(found.c.id, found.c.score, memories.c.version)
            .join(memories, memories.c.id == found.c.id)
            .where(memories.c.meta["topic"].astext == "deploy")
            .order_by(found.c.score.desc())
        ).all()
        assert [(str(row.id), row.version) for row in rows] == [(made["id"], 1)]

        # A name that is taken. A savepoint keeps the rest of the transaction.
        try:
            with session.begin_nested():
                session.scalar(select(call("memory_create", content="Other.", tree="share/app", name="deploy-day")))
            raise AssertionError("the name was taken")
        except IntegrityError as error:
            assert detail(error)["code"] == "CONFLICT" and detail(error)["reason"] == "path"

        # A version that somebody else has changed meanwhile: read, merge, try again.
        def update(version_hash: str):
            return select(
                call(
                    "memory_update",
                    id=uuid.UUID(made["id"]),
                    version_hash=version_hash,
                    content="Deploys happen on Wednesdays.",
                )
            )

        try:
            with session.begin_nested():
                session.scalar(update("0" * 32))
            raise AssertionError("the version hash was stale")
        except OperationalError as error:
            now = detail(error)
            assert now["code"] == "CONFLICT" and now["reason"] == "version"
        assert session.scalar(update(now["versionHash"]))["version"] == 2
        session.commit()

        # One transaction for a row of one's own and a memory: both or neither.
        def open_ticket(title: str) -> None:
            memory = session.scalar(select(call("memory_create", content=title, tree="share/app/tickets")))
            session.add(Ticket(title=title, memory_id=uuid.UUID(memory["id"])))
            session.flush()

        open_ticket("The pump leaks.")
        session.commit()
        open_ticket("Never seen.")
        session.rollback()
    print("ok")


main()
