//! Memories from Rust with sqlx. DATABASE_URL says where.

use serde_json::{Value, json};
use sqlx::postgres::{PgConnection, PgDatabaseError};
use sqlx::types::Uuid;
use sqlx::{Connection, query, query_as, query_scalar};

/// `me.memory_create`; None is "not given".
async fn create(
    connection: &mut PgConnection,
    content: &str,
    tree: &str,
    name: Option<&str>,
    meta: Option<Value>,
) -> Result<Value, sqlx::Error> {
    query_scalar("select me.memory_create(content => $1, tree => $2, name => $3, meta => $4)")
        .bind(content)
        .bind(tree)
        .bind(name)
        .bind(meta)
        .fetch_one(connection)
        .await
}

async fn update(connection: &mut PgConnection, id: Uuid, version_hash: &str) -> Result<Value, sqlx::Error> {
    query_scalar(
        "select me.memory_update(id => $1, version_hash => $2, content => 'Deploys happen on Wednesdays.')",
    )
    .bind(id)
    .bind(version_hash)
    .fetch_one(connection)
    .await
}

/// The SQLSTATE of a refusal, and what the server says to programs: the DETAIL is one JSON object.
fn refused(result: Result<Value, sqlx::Error>) -> (String, Value) {
    let error = result.expect_err("had to be refused");
    let error = error.as_database_error().expect("an answer of the server").downcast_ref::<PgDatabaseError>();
    let detail = serde_json::from_str(error.detail().unwrap_or("null")).expect("JSON");
    (error.code().to_owned(), detail)
}

fn id_of(memory: &Value) -> Uuid {
    memory["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
}

async fn open_ticket(connection: &mut PgConnection, title: &str) -> Result<(), sqlx::Error> {
    let memory = create(connection, title, "share/app/tickets", None, None).await?;
    query("insert into tickets (title, memory_id) values ($1, $2)")
        .bind(title)
        .bind(id_of(&memory))
        .execute(connection)
        .await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut connection = PgConnection::connect(&std::env::var("DATABASE_URL")?).await?;
    query("create table tickets (id int generated always as identity primary key, title text not null, memory_id uuid)")
        .execute(&mut connection)
        .await?;

    let meta = json!({"topic": "deploy", "priority": 5});
    let made =
        create(&mut connection, "Deploys happen on Tuesdays.", "share/app", Some("deploy-day"), Some(meta))
            .await?;
    let got: Value = query_scalar("select me.memory_get_by_path($1)")
        .bind("share/app/deploy-day")
        .fetch_one(&mut connection)
        .await?;
    assert_eq!(got, made);

    // me.search gives rows, for joins and for structs of one's own.
    let found: Vec<(Uuid, f64)> =
        query_as(r#"select id, score from me.search(fulltext => $1, meta => $2, "limit" => 5)"#)
            .bind("deploys")
            .bind(json!({"topic": "deploy"}))
            .fetch_all(&mut connection)
            .await?;
    assert_eq!(found.iter().map(|row| row.0).collect::<Vec<_>>(), [id_of(&made)]);

    // A name that is taken.
    let (sqlstate, detail) =
        refused(create(&mut connection, "Other.", "share/app", Some("deploy-day"), None).await);
    assert_eq!(
        (sqlstate.as_str(), &detail["code"], &detail["reason"]),
        ("23505", &json!("CONFLICT"), &json!("path"))
    );

    // A version that somebody else has changed meanwhile: read, merge, try again.
    let (sqlstate, detail) = refused(update(&mut connection, id_of(&made), &"0".repeat(32)).await);
    assert_eq!((sqlstate.as_str(), &detail["reason"]), ("55000", &json!("version")));
    let now = detail["versionHash"].as_str().expect("the hash of now");
    assert_eq!(update(&mut connection, id_of(&made), now).await?["version"], 2);

    // One transaction for a row of one's own and a memory: both or neither.
    let mut transaction = connection.begin().await?;
    open_ticket(&mut transaction, "The pump leaks.").await?;
    transaction.commit().await?;
    let mut transaction = connection.begin().await?;
    open_ticket(&mut transaction, "Never seen.").await?;
    transaction.rollback().await?;

    println!("ok");
    Ok(())
}
