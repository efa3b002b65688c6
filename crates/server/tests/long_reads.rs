//! Long reads: one owner's do not delay other owners, and end when their client disconnects.

use std::{path::Path, sync::Arc, time::Duration};

use entourage_engine::NewAgent;
use entourage_store_sqlite::{Settings, SqliteStore, Statements};
use entourage_types::{Action, Owner};
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream, sync::Semaphore};

use crate::{
    auth::{settings, token_of},
    site::{Site, engine},
};

/// How many threads run reads that may be long.
const READERS: usize = 4;
/// How many of these threads one owner may use: all but one.
const SHARE: u32 = 3;

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(10);

async fn soon<T>(what: &str, happens: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, happens).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// Makes each read of one of Ann's records take far longer, inside SQLite, than a test waits.
fn make_slow(path: &Path) {
    let slow = "ALTER TABLE entities RENAME TO kept;
        CREATE VIEW entities AS SELECT * FROM kept WHERE owner <> 'ann' OR (
            WITH RECURSIVE number(i) AS (SELECT kept.n UNION ALL SELECT i + 1 FROM number LIMIT 300000000)
            SELECT count(*) FROM number
        ) > 0";
    rusqlite::Connection::open(path).unwrap().execute_batch(slow).unwrap();
}

#[tokio::test]
async fn long_reads_of_one_owner_do_not_delay_other_owners() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entourage.db");
    let [ann, bob] = ["ann", "bob"].map(Owner::new);
    let engine = engine(Arc::new(SqliteStore::open(&path, Settings::default()).unwrap()));
    let hers = engine.client(ann.clone()).create(NewAgent::default(), None).await.unwrap().id;
    engine.client(ann).intervene(hers, Action::Comment, Some("hello")).await.unwrap();
    let his = engine.client(bob).create(NewAgent::default(), None).await.unwrap().id;
    drop(engine);
    make_slow(&path);

    let begun = Arc::new(Semaphore::new(0));
    let heard = Arc::clone(&begun);
    let statements = Statements::new(move |sql| {
        if sql.contains("FROM entities") {
            heard.add_permits(1);
        }
    });
    let sqlite = Settings { readers: READERS, statements: Some(statements), ..Settings::default() };
    let site = Site::at_rest(Arc::new(SqliteStore::open(&path, sqlite).unwrap()), settings()).await;
    let token = token_of("ann");
    let (ann, bob) = (site.bearing(&token), site.bearing(&token_of("bob")));
    let list = format!("/v1/agents/{hers}/interventions");
    let head =
        format!("GET {list} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n", site.address);
    // Twice: as many reads can begin again only if the earlier ones have ended.
    for _ in 0..2 {
        let mut clients = Vec::new();
        for _ in 0..2 * READERS {
            let mut client = TcpStream::connect(site.address).await.unwrap();
            client.write_all(head.as_bytes()).await.unwrap();
            clients.push(client);
        }
        soon("her reads begin", begun.acquire_many(SHARE)).await.unwrap().forget();
        let agents = soon("another owner's list", bob.get("/v1/agents")).await.expect(200);
        assert_eq!(agents["data"][0]["id"], json!(his));
        drop(clients);
        // It reads none of her records.
        let runs = soon("her own, after she has hung up", ann.get("/v1/runs")).await.expect(200);
        assert_eq!(runs["data"], json!([]));
    }
}
