//! What earlier versions stored as the codes of notices.

use entourage_store::{ItemQuery, Store as _};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{AgentId, ItemBody, Level, NoticeCode, RunId, Scope, StopReason};
use rusqlite::params;
use serde_json::json;
use tempfile::TempDir;

use crate::older::{insert_agent, of_version};

#[tokio::test]
async fn a_notice_of_an_earlier_version_has_the_code_of_what_it_meant() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let (agent, older) = (AgentId::new(), of_version(&path, 34));
    insert_agent(&older, agent);
    let limits = ["max_steps", "same_tool", "stalled", "max_time", "max_tokens", "max_cost"];
    let mut codes = vec![
        ("info", "nothing_sent", NoticeCode::AskedToSend),
        ("warning", "nothing_sent", NoticeCode::NothingSent),
        ("info", "told_as_it_is", NoticeCode::UneditedResult),
        ("info", "input_accepted", NoticeCode::InputAccepted),
        ("info", "output_rejected", NoticeCode::OutputRejected),
        ("info", "progress", NoticeCode::Progress),
        ("warning", "over_budget", NoticeCode::OverBudget),
        ("info", "new", NoticeCode::Other { level: Level::Info, code: "new".to_owned() }),
    ];
    let reason = |word: &str| word.parse::<StopReason>().unwrap();
    codes.extend(limits.map(|word| ("info", word, NoticeCode::LastCall(reason(word)))));
    // Earlier versions did not know these.
    let later = [StopReason::MaxHistory, StopReason::Stale].map(StopReason::as_str);
    let reasons = StopReason::WORDS.iter().filter(|word| !later.contains(word));
    codes.extend(reasons.map(|word| ("error", *word, NoticeCode::Ended(reason(word)))));
    for (seq, (level, code, _)) in (0_u32..).zip(&codes) {
        let body = json!({"level": level, "code": code, "text": "t", "cause": "c"}).to_string();
        let sql = "INSERT INTO items (n, run, session, at, type, body) \
                   SELECT n << 32 | ?2, ?3, 1, 0, 'notice', ?4 FROM agents WHERE id = ?1";
        older.execute(sql, params![agent.to_string(), seq, RunId::new().to_string(), body]).unwrap();
    }
    drop(older);
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let items = store.items(&Scope::All, ItemQuery::of(agent, 0, 100)).await.unwrap();
    let read = items.into_iter().map(|item| match item.body {
        ItemBody::Notice(notice) => (notice.code, notice.text, notice.cause),
        other => panic!("{other:?}"),
    });
    let expected = codes.into_iter().map(|(_, _, code)| (code, "t".to_owned(), Some("c".to_owned())));
    assert_eq!(read.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}
