//! Databases of earlier versions. This one was left by a process that was killed with everything in flight:
//! open calls of every sort, a pending retry, an approval, a call in doubt, sleeping agents. All of
//! it continues, also after a program of a version in between opened the database.

mod budgets;
mod programs;
mod waiting;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::kit::{Database, Effects, TestTool, conversation, first_tools};
use entourage_engine::{Clock, Kinds};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{World, audit, inexact_requests};
use entourage_types::{
    About, Agent, AgentId, Answer, Checkpoint, Effect, Intent, ItemBody, Kind, QuestionStatus, Status, Step,
    StepKey, StepState, Wait, WaitingOn,
};
use rusqlite::Connection;
use serde_json::json;

/// The schema version of the program that left the rows.
const VERSION: usize = 15;
const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store-sqlite");

/// Migrations that were changed later: by number, the last version that was made with them, and as they were.
const CHANGED: [(usize, usize, &str); 3] =
    [(16, 17, "0016.sql"), (20, 21, "0020.sql"), (20, 21, "0020_second.sql")];

/// How long the process was killed after the start of the tests' clock.
const SINCE: Duration = Duration::from_secs(28_337_200);

/// How a database that was left at a version was migrated since.
#[derive(Debug, Clone, Copy)]
struct Migrated {
    from: usize,
    to: usize,
    /// The number of a migration that was another one then, and its file.
    changed: Option<(usize, &'static str)>,
}

impl Migrated {
    /// Every way in which a program of main can have left a database of this version.
    fn all(from: usize) -> Vec<Self> {
        let as_now =
            (from..=entourage_store_sqlite::VERSION as usize).map(|to| Self { from, to, changed: None });
        let as_then = CHANGED.into_iter().flat_map(|(number, last, file)| {
            (number.max(from + 1)..=last).map(move |to| Self { from, to, changed: Some((number, file)) })
        });
        as_now.chain(as_then.filter(|then| then.changed.is_some_and(|(number, _)| number > from))).collect()
    }

    /// Writes the file, with these rows.
    fn write(self, path: &Path, rows: &str) {
        let file = Connection::open(path).unwrap();
        let directory = Path::new(STORE).join("migrations");
        let mut migrations: Vec<PathBuf> =
            fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
        migrations.sort();
        if let Some((number, file)) = self.changed {
            migrations[number - 1] = Path::new(STORE).join("tests/main/introduced").join(file);
        }
        let migrate = |migrations: &[PathBuf]| {
            for migration in migrations {
                file.execute_batch(&fs::read_to_string(migration).unwrap()).unwrap();
            }
        };
        migrate(&migrations[..self.from]);
        file.execute_batch(rows).unwrap();
        migrate(&migrations[self.from..self.to]);
        file.pragma_update(None, "application_id", 0x456e_746f).unwrap();
        file.pragma_update(None, "user_version", self.to as u32).unwrap();
    }
}

/// A model that makes no more calls, and repeats what it reads last.
fn repeats_last_input(request: &Request) -> Script {
    Script::text(match conversation(request).last() {
        Some(Message::Output { text, .. }) => format!("It came back: {text}"),
        other => format!("It was said: {other:?}"),
    })
}

struct OldDatabase {
    world: World,
    effects: Effects,
    agents: Vec<Agent>,
    _database: Database,
}

impl OldDatabase {
    /// The world over that database, in which nothing happens before the clock moves.
    async fn open(migrated: Migrated) -> Self {
        let (database, effects) = (Database::new(), Effects::default());
        migrated.write(&database.path(), include_str!("database.sql"));
        let tools = ["bank__pay", "bank__hang"]
            .into_iter()
            .fold(first_tools(), |tools, name| tools.with(TestTool::new(name, Effect::Unsafe, &effects)));
        let kinds =
            ["worker", "helper"].into_iter().fold(Kinds::none(), |kinds, name| kinds.with(Kind::bare(name)));
        let model = ScriptedModel::deciding(|request| Some(Ok(repeats_last_input(request))));
        let world = World::builder(model).tools(tools).kinds(kinds).store(database.open()).start().await;
        let page = Page { limit: 100, newest_first: false, ..Page::default() };
        let agents = world.client().agents(None, page).await.unwrap();
        Self { world, effects, agents, _database: database }
    }

    /// The agent whose message or task contains this.
    fn of(&self, script: &str) -> AgentId {
        let told = |agent: &&Agent| agent.title.contains(script);
        self.agents.iter().find(told).unwrap_or_else(|| panic!("nobody was told {script}")).id
    }

    async fn steps(&self, agent: AgentId) -> Vec<Step> {
        let runs = self.world.client().runs(agent, Page::default()).await.unwrap();
        self.world.store().steps(&entourage_types::Scope::All, runs[0].id).await.unwrap()
    }

    async fn wait(&self, agent: AgentId) -> Wait {
        let steps = self.steps(agent).await;
        steps.iter().find_map(Step::wait).unwrap_or_else(|| panic!("nothing waits: {steps:?}")).clone()
    }

    async fn answer(&self, agent: AgentId, answer: Answer) {
        let client = self.world.client();
        let open = client.questions(Some(agent), Some(QuestionStatus::Open), Page::default()).await.unwrap();
        assert_eq!(open.len(), 1, "{open:?}");
        client.answer(open[0].id, answer).await.unwrap();
    }

    /// The agent's last text, once its tree has ended.
    async fn said(&self, agent: AgentId) -> String {
        let status = self.world.ended(agent).await.status;
        let runs = self.world.client().runs(agent, Page::default()).await.unwrap();
        assert_eq!(status, Status::Succeeded, "{:?}", runs[0].error);
        let items = self.world.client().items(agent, 0, 100).await.unwrap();
        match &items.last().unwrap().body {
            ItemBody::Turn(turn) => turn.text.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn is_about(wait: &Wait, about: About) -> bool {
    matches!(wait, Wait::Question(asked) if asked.about == about)
}

#[tokio::test]
async fn steps_of_schema_version_15_keep_their_waits_intents_and_retries() {
    for migrated in Migrated::all(VERSION) {
        println!("{migrated:?}");
        steps_are_kept(&OldDatabase::open(migrated).await).await;
    }
}

async fn steps_are_kept(left: &OldDatabase) {
    assert!(is_about(&left.wait(left.of("Which colour?")).await, About::Information));
    assert!(is_about(&left.wait(left.of("bank__pay")).await, About::Approval));
    let timer = left.wait(left.of("[[\"wait\", {\"seconds\": 3000")).await;
    let Wait::Until { until } = timer else { panic!("{timer:?}") };
    assert!(until > Clock::now(left.world.clock()));
    let sleeping = left.wait(left.of("send_message")).await;
    assert!(matches!(sleeping, Wait::Task { existing: None, .. }), "{sleeping:?}");

    let in_doubt = left.steps(left.of("\"bank__hang\", {\"n\": 5}")).await;
    assert!(is_about(in_doubt[0].wait().unwrap(), About::Doubt));
    assert_eq!(in_doubt[0].intent, Some(Intent { effect: Effect::Unsafe, edited: None }));
    assert_eq!((&in_doubt[1].key, &in_doubt[1].state), (&StepKey::Restart, &StepState::Done(None)));

    let half = left.steps(left.of("\"title\": \"N\"")).await;
    assert!(is_about(half[0].wait().unwrap(), About::Information), "{half:?}");
    assert_eq!(half[1].output().unwrap().text, "Noted in this conversation: N");

    let retried = left.steps(left.of("SCRIPT busy")).await;
    let StepState::Retry(retry) = &retried[0].state else { panic!("{retried:?}") };
    assert_eq!(
        (&retried[0].key, retry.error.as_str()),
        (&StepKey::Model(1), "compatible::fake: HTTP 503: come back")
    );
    assert!(retry.due < until);
}

#[tokio::test]
async fn items_of_schema_version_15_get_the_keys_of_their_steps() {
    for migrated in Migrated::all(VERSION) {
        println!("{migrated:?}");
        items_have_keys(&OldDatabase::open(migrated).await).await;
    }
}

async fn items_have_keys(left: &OldDatabase) {
    let done = left.of("\"title\": \"M\"");
    let items = left.world.client().items(done, 0, 10).await.unwrap();
    let call = match &items[1].body {
        ItemBody::Turn(turn) => turn.calls[0].id,
        other => panic!("{other:?}"),
    };
    let keys: Vec<Option<StepKey>> = items.iter().map(|item| item.step.clone()).collect();
    assert_eq!(keys, [None, Some(StepKey::Model(1)), Some(StepKey::Tool(call)), Some(StepKey::Model(2))]);
    let runs = left.world.client().runs(done, Page::default()).await.unwrap();
    let steps = left.world.client().steps(runs[0].id).await.unwrap();
    let steps: Vec<_> = steps.iter().map(|step| (step.key.clone(), step.state.clone())).collect();
    let item = |seq| StepState::Done(Some(Checkpoint::Item(seq)));
    assert_eq!(
        steps,
        [(StepKey::Model(1), item(1)), (StepKey::Tool(call), item(2)), (StepKey::Model(2), item(3))]
    );
}

/// Everything in flight continues after an upgrade.
#[tokio::test]
async fn all_work_in_flight_in_schema_version_15_continues_after_an_upgrade() {
    for migrated in Migrated::all(VERSION) {
        println!("{migrated:?}");
        all_continues(&OldDatabase::open(migrated).await).await;
    }
}

async fn all_continues(left: &OldDatabase) {
    let world = &left.world;
    let asleep = [
        left.of("[[\"wait\", {\"seconds\": 3000"),
        left.of("SCRIPT busy"),
        left.agents.iter().find(|agent| agent.title == "t").unwrap().id,
    ];
    world.clock().advance(SINCE);

    // A call that was under way with a person's arguments is now in doubt, whatever its tool now
    // declares.
    let begun = left.of("\"bank__hang\", {\"n\": 500}");
    let question = world.question(begun).await;
    assert_eq!(question.about, About::Doubt);
    assert_eq!(question.proposal.unwrap().arguments, json!({ "n": 7 }));
    left.answer(begun, Answer::Retry).await;
    let said = left.said(begun).await;
    assert!(said.contains(r#"The user changed the arguments to {"n":7}"#), "{said}");
    assert_eq!(left.effects.per_call(), [1]);

    let asked = left.of("Which colour?");
    left.answer(asked, Answer::Text("Blue.".into())).await;
    assert_eq!(left.said(asked).await, "It came back: Blue.");
    let approval = left.of("bank__pay");
    left.answer(approval, Answer::Approve { arguments: None, always: false, digest: None }).await;
    assert_eq!(left.said(approval).await, r#"It came back: bank__pay: {"n":500}"#);
    let in_doubt = left.of("\"bank__hang\", {\"n\": 5}");
    left.answer(in_doubt, Answer::Text("It was paid.".into())).await;
    assert_eq!(left.said(in_doubt).await, "It came back: It was paid.");
    let half = left.of("\"title\": \"N\"");
    left.answer(half, Answer::Text("Yes.".into())).await;
    assert_eq!(left.said(half).await, "It came back: Yes.");
    assert_eq!(world.client().notes(Some(half), Page::default()).await.unwrap().len(), 1);
    // The child's answer ends the child, and its result its parent.
    let sleeping = left.of("send_message");
    left.answer(sleeping, Answer::Text("Deep.".into())).await;
    assert_eq!(left.said(sleeping).await, "It came back: It came back: Deep.");

    for agent in asleep {
        let agent = world.client().agent(agent).await.unwrap();
        assert!(matches!(agent.waiting_on, Some(WaitingOn::Timer | WaitingOn::Retry)), "{agent:?}");
    }
    world.clock().advance(Duration::from_secs(2 * 3600));
    assert_eq!(left.said(asleep[0]).await, "It came back: The time has passed.");
    assert!(left.said(asleep[1]).await.starts_with("It was said:"));
    assert!(!left.said(left.of("spawn_agent")).await.is_empty());
    assert_eq!(audit(&**world.store(), None).await.unwrap(), []);

    // What was asked before has no digest; what was asked since is rebuilt to the byte, and each run was given
    // the time before its next call.
    assert_eq!(inexact_requests(world.engine()).await, []);
    let [old, new] = [1, 2].map(|number| {
        let client = world.client();
        async move {
            let run = client.runs(asked, Page::default()).await.unwrap().remove(0).id;
            client.request(run, number).await.unwrap()
        }
    });
    let (old, new) = (old.await, new.await);
    assert!(old.doubt.is_some_and(|doubt| doubt.contains("did not keep digests")));
    assert_eq!((new.doubt, new.asked.is_some()), (None, true));
    assert!(matches!(new.request.messages.last(), Some(Message::Context(_))), "{:?}", new.request.messages);
}
