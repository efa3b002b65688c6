//! Tests of threads that are also kept in a thread store.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use entourage::{
    agency::{Agency, AgencyBuilder, RunItem, ThreadKey, ThreadStore, ThreadStoreError},
    types::{Author, Item, ItemBody, Message as Said, Turn},
};
use entourage_engine::Clock;
use entourage_llm::{Message, ScriptedModel};
use entourage_testkit::FakeClock;

use crate::{agent, chain, hands_on, is, lines, scripted, within};

/// How long the engine lets a thread store take for one save.
const A_SAVES_TIME: Duration = Duration::from_secs(30);

/// The outcome of a request to the thread store.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Fails,
    Crashes,
    Hangs,
}

/// A thread store.
#[derive(Default)]
struct FaultyThreadStore {
    threads: Mutex<BTreeMap<ThreadKey, Vec<Item>>>,
    /// The outcomes of the next requests about threads with these recipients.
    loads: Mutex<Vec<(&'static str, Fault)>>,
    saves: Mutex<Vec<(&'static str, Fault)>>,
}

impl FaultyThreadStore {
    fn lines(&self) -> BTreeMap<String, Vec<String>> {
        let threads = self.threads.lock().unwrap();
        let thread = |(key, items): (&ThreadKey, &Vec<Item>)| {
            let texts = items.iter().map(|item| match &item.body {
                ItemBody::Message(message) => format!("> {}", message.text),
                ItemBody::Turn(turn) => format!("< {}{}", turn.text, turn.calls.len()),
                ItemBody::Output(output) => format!("= {}", output.text),
                other => format!("{other:?}"),
            });
            (format!("{} {}<{}", key.chat, key.recipient, key.sender), texts.collect())
        };
        threads.iter().map(thread).collect()
    }
}

/// Gives this request its planned outcome, if it has one.
async fn apply_planned_fault(
    fates: &Mutex<Vec<(&'static str, Fault)>>,
    key: &ThreadKey,
) -> Result<(), ThreadStoreError> {
    let fate = {
        let mut fates = fates.lock().unwrap();
        let at = fates.iter().position(|(recipient, _)| *recipient == key.recipient);
        at.map(|at| fates.remove(at).1)
    };
    match fate {
        None => Ok(()),
        Some(Fault::Fails) => Err("the disk is full".into()),
        Some(Fault::Crashes) => panic!("a thread_store with a mistake"),
        Some(Fault::Hangs) => std::future::pending().await,
    }
}

#[async_trait]
impl ThreadStore for FaultyThreadStore {
    async fn load(&self, thread: &ThreadKey) -> Result<Vec<ItemBody>, ThreadStoreError> {
        apply_planned_fault(&self.loads, thread).await?;
        let threads = self.threads.lock().unwrap();
        Ok(threads.get(thread).into_iter().flatten().map(|item| item.body.clone()).collect())
    }

    async fn save(&self, thread: &ThreadKey, items: &[Item]) -> Result<(), ThreadStoreError> {
        apply_planned_fault(&self.saves, thread).await?;
        let mut threads = self.threads.lock().unwrap();
        let kept = threads.entry(thread.clone()).or_default();
        for item in items {
            if !kept.iter().any(|other| (other.run, other.seq) == (item.run, item.seq)) {
                assert_eq!(item.seq, kept.len() as u64, "in order and without gaps");
                kept.push(item.clone());
            }
        }
        Ok(())
    }
}

async fn open(
    builder: AgencyBuilder,
    thread_store: &Arc<FaultyThreadStore>,
    model: &Arc<ScriptedModel>,
) -> Agency {
    let thread_store: Arc<dyn ThreadStore> = Arc::<FaultyThreadStore>::clone(thread_store);
    builder.in_memory().thread_store(thread_store).model(Arc::clone(model)).open().await.unwrap()
}

async fn thread_logs(agency: &Agency) -> BTreeSet<Vec<String>> {
    let mut all = BTreeSet::new();
    for thread in agency.threads().threads("c").await.unwrap() {
        all.insert(lines(&thread.get_full_log().await.unwrap()));
    }
    all
}

async fn send(agency: &Agency, text: &str) -> String {
    agency.get_response(text).chat_id("c").await.unwrap().final_output.unwrap()
}

/// Shows: S2-R085.
#[tokio::test]
async fn a_chat_continues_in_an_empty_database_from_the_thread_store() {
    let model = || scripted(hands_on);
    let undisturbed = {
        let agency = open(chain().0, &Arc::default(), &model()).await;
        send(&agency, "Go.").await;
        send(&agency, "More.").await;
        thread_logs(&agency).await
    };
    let elsewhere = Arc::<FaultyThreadStore>::default();
    let agency = open(chain().0, &elsewhere, &model()).await;
    send(&agency, "Go.").await;
    agency.close().await;
    assert_eq!(elsewhere.lines()["c Reviewer<Developer"], ["> Go.", "< <Go.>0"]);
    assert_eq!(elsewhere.lines().len(), 3, "{:?}", elsewhere.lines());

    let asked = model();
    let agency = open(chain().0, &elsewhere, &asked).await;
    assert_eq!(send(&agency, "More.").await, "<<<More.>>>");
    let requests = asked.requests();
    let reviewer = requests.iter().find(|request| is(request, "Reviewer")).unwrap();
    let said = |text: &str| Message::Assistant { text: text.into(), calls: vec![] };
    let expected = [Message::User("Go.".into()), said("<Go.>"), Message::User("More.".into())];
    assert_eq!(reviewer.messages, expected);
    assert_eq!(thread_logs(&agency).await, undisturbed);
    // Another chat starts empty.
    agency.get_response("Else.").chat_id("d").await.unwrap();
    agency.close().await;
    let lines = elsewhere.lines();
    assert_eq!(lines["c Reviewer<Developer"], ["> Go.", "< <Go.>0", "> More.", "< <More.>0"]);
    assert_eq!(lines["d Ceo<user"].len(), 4, "{lines:?}");
}

#[tokio::test]
async fn a_thread_saved_mid_call_or_by_another_program_is_continued() {
    let elsewhere = Arc::<FaultyThreadStore>::default();
    let agency = open(chain().0, &elsewhere, &scripted(hands_on)).await;
    send(&agency, "Go.").await;
    agency.close().await;
    // The Ceo had asked the Developer; nothing after that was saved.
    elsewhere.threads.lock().unwrap().values_mut().for_each(|items| items.truncate(2));
    let agency = open(chain().0, &elsewhere, &scripted(hands_on)).await;
    assert_eq!(send(&agency, "More.").await, "<<<More.>>>");
    let thread = agency.threads().get_thread("c", "Ceo", None).await.unwrap().unwrap();
    let log = lines(&thread.get_full_log().await.unwrap());
    assert!(log[2].starts_with("Ceo gets! no output: the result of this call was not saved"), "{log:?}");
    assert_eq!(log[3], "Ceo is told More.");
    agency.close().await;
    assert_eq!(elsewhere.lines()["c Ceo<user"].len(), log.len());

    /// Saves nothing, and returns messages of an earlier program.
    struct EarlierProgramStore;
    #[async_trait]
    impl ThreadStore for EarlierProgramStore {
        async fn load(&self, _: &ThreadKey) -> Result<Vec<ItemBody>, ThreadStoreError> {
            Ok(vec![
                ItemBody::Message(Said::new(Author::User, "Hello.", None)),
                ItemBody::Turn(Turn { text: "Good day.".into(), ..Turn::default() }),
            ])
        }

        async fn save(&self, _: &ThreadKey, _: &[Item]) -> Result<(), ThreadStoreError> {
            Ok(())
        }
    }
    let (a, asked) =
        (agent("A"), scripted(|request| entourage_llm::Script::text(request.messages.len().to_string())));
    let builder = Agency::new([&a], []).in_memory().thread_store(Arc::new(EarlierProgramStore));
    let agency = builder.model(Arc::clone(&asked)).open().await.unwrap();
    assert_eq!(send(&agency, "Again.").await, "3");
    let said = Message::Assistant { text: "Good day.".into(), calls: vec![] };
    assert_eq!(asked.requests()[0].messages[1], said);
    assert!(agency.resume("d").await.is_err());
}

#[tokio::test]
async fn a_failed_thread_load_is_an_error_and_changes_nothing() {
    let elsewhere = Arc::<FaultyThreadStore>::default();
    let agency = open(chain().0, &elsewhere, &scripted(hands_on)).await;
    for (fate, why) in [(Fault::Fails, "the disk is full"), (Fault::Crashes, "it crashed")] {
        elsewhere.loads.lock().unwrap().push(("Ceo", fate));
        let refused = agency.get_response("Go.").chat_id("c").await.unwrap_err().to_string();
        assert!(
            refused.contains("between `Ceo` and `user` in chat `c`") && refused.contains(why),
            "{refused}"
        );
        assert!(agency.client().agents(None, entourage::Page::default()).await.unwrap().is_empty());
    }
    // The Ceo gets an error about the Developer's thread, and may ask again.
    elsewhere.loads.lock().unwrap().push(("Developer", Fault::Fails));
    let result = agency.get_response("Go.").chat_id("c").await.unwrap();
    let told = result.generated_items.iter().find_map(|item| match item {
        RunItem::ToolCallOutput(item) => Some((item.is_error, item.output.clone())),
        _ => None,
    });
    let (failed, told) = told.unwrap();
    assert!(
        failed && told.starts_with("the earlier messages with `Developer` could not be loaded"),
        "{told}"
    );
    assert!(!told.contains("disk"), "the cause is for the log: {told}");
    assert!(agency.threads().get_thread("c", "Developer", Some("Ceo")).await.unwrap().is_none());
    assert_eq!(send(&agency, "Again.").await, "<<<Again.>>>");
}

#[tokio::test]
async fn a_thread_save_that_fails_or_hangs_is_retried_and_delays_no_run() {
    let (elsewhere, clock) = (Arc::<FaultyThreadStore>::default(), FakeClock::default());
    elsewhere.saves.lock().unwrap().extend([
        ("Developer", Fault::Hangs),
        ("Reviewer", Fault::Fails),
        ("Reviewer", Fault::Crashes),
    ]);
    let agency = open(chain().0.clock(Arc::new(clock.clone())), &elsewhere, &scripted(hands_on)).await;
    assert_eq!(send(&agency, "Go.").await, "<<<Go.>>>");
    let began = clock.now();
    let is_saved = |thread: &str| elsewhere.lines().contains_key(thread);
    within("all is saved", async {
        while !is_saved("c Ceo<user")
            || !elsewhere.saves.lock().unwrap().is_empty()
            || !is_saved("c Developer<Ceo")
        {
            clock.advance(clock.sleeper(A_SAVES_TIME).await);
        }
    })
    .await;
    let waited = clock.now().since(began);
    assert!(A_SAVES_TIME <= waited && waited < 10 * A_SAVES_TIME, "one that hangs is given {waited:?}");
    // A save that hangs does not keep the program from ending, or the other threads from being saved.
    elsewhere.saves.lock().unwrap().extend([("Developer", Fault::Hangs), ("Developer", Fault::Hangs)]);
    send(&agency, "More.").await;
    let time_goes_by = async {
        loop {
            clock.advance(clock.sleeper(A_SAVES_TIME).await);
        }
    };
    within("it is closed", async {
        tokio::select! {
            () = agency.close() => {}
            () = time_goes_by => {}
        }
    })
    .await;
    let lines = elsewhere.lines();
    assert_eq!(lines["c Ceo<user"].len(), 8, "{lines:?}");
    assert_eq!((lines["c Developer<Ceo"].len(), lines["c Reviewer<Developer"].len()), (4, 4), "{lines:?}");
}

#[tokio::test]
async fn an_older_thread_is_saved_whole_with_its_next_message() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agency.db");
    let builder = || {
        let a = agent("A");
        Agency::new([&a], []).database(&path).model(scripted(|_| entourage_llm::Script::text("Yes.")))
    };
    let agency = builder().open().await.unwrap();
    for number in 0..110 {
        send(&agency, &format!("{number}?")).await;
    }
    agency.close().await;
    let elsewhere = Arc::<FaultyThreadStore>::default();
    let thread_store: Arc<dyn ThreadStore> = Arc::<FaultyThreadStore>::clone(&elsewhere);
    let agency = builder().thread_store(thread_store).open().await.unwrap();
    send(&agency, "The last?").await;
    agency.close().await;
    // More than one step can save.
    let lines = elsewhere.lines();
    assert_eq!(lines["c A<user"].len(), 222);
    assert_eq!(lines["c A<user"][220..], ["> The last?", "< Yes.0"]);
}
