//! Opening: who creates the tables, and what is refused.

use std::sync::Arc;

use entourage_store::{Commit, Database, Error, NodeInfo, Store, Write, database::Migrated};
use entourage_store_postgres::{PostgresDatabase, Settings, VERSION};
use entourage_types::{NodeRole, Scope};

use crate::server::{NOW, Scratch, root, run};

fn database(scratch: &Scratch) -> PostgresDatabase {
    PostgresDatabase::new(&scratch.url(), Settings::default()).unwrap()
}

/// Two programs that start at once on an empty database create its tables once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_starters_create_the_tables_once() {
    let Some(scratch) = Scratch::new() else { return };
    assert!(!database(&scratch).is_begun().await.unwrap());
    let (one, other) = tokio::join!(scratch.open(Settings::default()), scratch.open(Settings::default()));
    let (one, other) = (one.unwrap(), other.unwrap());
    let agent = root();
    one.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
    assert_eq!(other.agent(&Scope::All, agent.id).await.unwrap(), Some(agent));
    assert!(database(&scratch).is_begun().await.unwrap());
    let migrations = scratch.number("SELECT count(*) FROM entourage_schema").await;
    assert_eq!(u32::try_from(migrations), Ok(VERSION));
}

/// A server that takes no more connections is worked with by those that there are: reads and commits wait for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_gets_no_more_connections_works_with_those_that_there_are() {
    let Some(scratch) = Scratch::new() else { return };
    let url = scratch.limited(3).await;
    let store = Arc::new(PostgresDatabase::new(&url, Settings::default()).unwrap().connect().await.unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let agent = root();
            store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await?;
            store.agent(&Scope::All, agent.id).await
        });
    }
    while let Some(done) = tasks.join_next().await {
        assert!(done.unwrap().unwrap().is_some());
    }
}

/// Also a sign of life, for which there is no connection of its own then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_gets_no_connection_for_its_signs_of_life_gives_them_all_the_same() {
    let Some(scratch) = Scratch::new() else { return };
    // One to write, and one to read.
    let url = scratch.limited(2).await;
    let store = PostgresDatabase::new(&url, Settings::default()).unwrap().connect().await.unwrap();
    let nodes = store.nodes().unwrap();
    let info = NodeInfo {
        listener: None,
        version: "1".to_owned(),
        role: NodeRole::All,
        dispatch: None,
        draining: false,
    };
    assert_eq!(nodes.beat(&info).await.unwrap().nodes.len(), 1);
    let agent = root().id;
    assert!(nodes.take(&[agent]).await.unwrap().is_empty(), "nobody else has it");
}

/// A migration returns the versions before and after it, and changes nothing that is up to date.
#[tokio::test]
async fn a_migration_creates_what_is_missing() {
    let Some(scratch) = Scratch::new() else { return };
    for before in [None, Some(VERSION)] {
        assert_eq!(database(&scratch).migrate().await.unwrap(), Migrated { before, version: VERSION });
    }
}

/// A database of the first version is refused until it is migrated, and keeps its rows.
#[tokio::test]
async fn a_database_of_the_first_version_is_migrated() {
    let Some(scratch) = Scratch::new() else { return };
    let agent = root();
    let first = [
        "CREATE TABLE entourage_schema (version integer PRIMARY KEY, migrated timestamptz NOT NULL DEFAULT now())",
        include_str!("../../migrations/0001_first.sql"),
        "INSERT INTO entourage_schema (version) VALUES (1)",
        &format!("INSERT INTO trees VALUES ('{}', 7, 0)", agent.id.uuid()),
    ];
    run(&scratch.url(), &first.map(str::to_owned)).await;
    match database(&scratch).open().await {
        Err(Error::Unusable { why, .. }) => {
            assert!(why.contains("version 1") && why.contains("`entourage migrate`"))
        }
        other => panic!("{:?}", other.map(drop)),
    }
    let migrated = Migrated { before: Some(1), version: VERSION };
    assert_eq!(database(&scratch).migrate().await.unwrap(), migrated);
    let store = database(&scratch).open().await.unwrap();
    assert_eq!(store.nodes().unwrap().last_events(&[agent.id]).await.unwrap(), [(agent.id, 7)]);
    store.commit(Commit::new(NOW).write(Write::NewAgent(root()))).await.unwrap();
}

/// A database of another version, or of another program, is refused and left alone.
#[tokio::test]
async fn a_database_of_another_version_or_program_is_refused() {
    let Some(scratch) = Scratch::new() else { return };
    let unusable = |opened: Result<_, Error>| match opened {
        Err(Error::Unusable { path, why }) => (path, why),
        other => panic!("{:?}", other.map(|_: std::sync::Arc<dyn Store>| ())),
    };
    run(&scratch.url(), &["CREATE TABLE a_table_of_others ()".to_owned()]).await;
    let (path, why) = unusable(database(&scratch).open().await);
    assert!(why.contains("another program") && !path.contains("entourage@"), "{path}: {why}");
    assert!(database(&scratch).migrate().await.is_err());
    run(&scratch.url(), &["DROP TABLE a_table_of_others".to_owned()]).await;
    drop(database(&scratch).open().await.unwrap());
    run(&scratch.url(), &[format!("INSERT INTO entourage_schema VALUES ({})", VERSION + 1)]).await;
    for opened in [database(&scratch).open().await, database(&scratch).open_to_read().await] {
        assert!(unusable(opened).1.contains("newer"));
    }
    assert!(database(&scratch).migrate().await.is_err());
}

/// To read, a database that has no tables is not given any.
#[tokio::test]
async fn opening_to_read_creates_nothing() {
    let Some(scratch) = Scratch::new() else { return };
    assert!(matches!(database(&scratch).open_to_read().await, Err(Error::Unusable { .. })));
    assert!(!database(&scratch).is_begun().await.unwrap());
}

/// A connection is encrypted, and the server's certificate is checked against those that the address names.
#[tokio::test]
async fn an_encrypted_connection_checks_the_servers_certificate() {
    let Some(scratch) = Scratch::new() else { return };
    let certificate = scratch.word("SELECT current_setting('data_directory') || '/server.crt'").await;
    assert_eq!(
        scratch.word("SHOW ssl").await,
        "on",
        "the server of the tests has a certificate: it needs `openssl`"
    );
    let by =
        |parameters: &str| PostgresDatabase::new(&scratch.with(parameters), Settings::default()).unwrap();
    let store = by(&format!("sslmode=require&sslrootcert={certificate}")).connect().await.unwrap();
    store.ready().await.unwrap();
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE datname = current_database() AND ssl";
    assert!(scratch.number(encrypted).await > 0);
    let refused = by("sslmode=require").connect().await.map(drop).unwrap_err();
    assert!(refused.is_outage() && refused.to_string().contains("sslrootcert"), "{refused:?}");
    assert!(by("sslmode=require&sslrootcert=/nowhere").connect().await.is_err());
}

/// Where a database is, is shown without its password.
#[test]
fn an_address_is_shown_without_its_password() {
    let database =
        PostgresDatabase::new("postgres://ann:secret@db.example:5433/work", Settings::default()).unwrap();
    assert_eq!(database.place(), "postgres://db.example:5433/work");
    assert!(!format!("{database:?}").contains("secret"));
    for wrong in ["", "work", "http://db.example/work", "postgres:///work?sslmode=whatever"] {
        let refused = PostgresDatabase::new(wrong, Settings::default());
        assert!(matches!(refused, Err(Error::Unusable { .. })), "{wrong}");
    }
}
