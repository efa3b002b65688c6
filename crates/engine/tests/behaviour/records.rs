//! Records of an application: with parents, unique names, versions and numbers, written by people and by tools.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_engine::{Client, Error, RecordFilter, StoreError};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::MemoryStore;
use entourage_testkit::{Story, World};
use entourage_tools::{Caller, Context, Done, Effect, Outcome, Tool, Toolbox};
use entourage_types::{
    AgentId, Columns, Entity, EntityKind, NewEvent, Owner, Parent, Record, Time, Tombstone, ToolSpec,
    UniqueName,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::one_kind;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Project {
    id: String,
    owner: Owner,
    root: Option<AgentId>,
    pub(crate) name: String,
    pub(crate) number: u64,
    at: Time,
}

impl Record for Project {
    const KIND: EntityKind = EntityKind::new("test_project");
    type Status = &'static str;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: self.root,
            parent: None,
            status: "active",
            created: self.at,
            updated: self.at,
            name: Some(UniqueName::of_owner(&self.name)),
            text: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Page {
    id: String,
    owner: Owner,
    root: Option<AgentId>,
    agent: Option<AgentId>,
    of: Parent,
    name: String,
    at: Time,
    #[serde(skip)]
    content: Option<String>,
}

impl Record for Page {
    const KIND: EntityKind = EntityKind::new("test_page");
    type Status = &'static str;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: self.root,
            parent: Some(self.of.clone()),
            status: "current",
            created: self.at,
            updated: self.at,
            name: Some(UniqueName::below(&self.of, &self.name)),
            text: self.content.clone(),
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        let in_tree = self.root.zip(self.agent);
        in_tree.map(|(root, agent)| NewEvent::of(self, root, agent)).transpose()
    }

    fn from_entity(entity: &Entity) -> serde_json::Result<Self> {
        Ok(Self { content: entity.text.clone(), ..serde_json::from_str(&entity.body)? })
    }
}

pub(crate) fn project(client: &Client, name: &str, number: u64) -> Project {
    let owner = client.owner().clone();
    let id = format!("{owner} {number}");
    Project { id, owner, root: None, name: name.into(), number, at: Time::from_micros(0) }
}

fn page(of: &Project, id: &str, name: &str) -> Page {
    let (owner, content) = (of.owner.clone(), Some("long".repeat(1_000)));
    let of = Parent::record::<Project>(&of.id);
    Page {
        id: id.into(),
        owner,
        root: None,
        agent: None,
        of,
        name: name.into(),
        at: Time::from_micros(0),
        content,
    }
}

async fn world() -> World {
    World::builder(ScriptedModel::new([Script::text("Hello.")])).store(MemoryStore::default()).start().await
}

pub(crate) fn is_taken(refused: &Result<(), Error>) -> bool {
    matches!(refused, Err(Error::Store(StoreError::NameTaken { .. })))
}

/// Numbers are given once, whatever is refused or forgotten in between, and to each owner from 1 on.
#[tokio::test]
async fn numbered_records_are_saved_by_many_callers_at_once_without_gaps() {
    let world = world().await;
    let client = world.client();
    let saved = (0..20).map(|n| {
        let client = client.clone();
        tokio::spawn(async move {
            let new = |number| project(&client, &format!("Project {n}"), number);
            client.save_numbered("projects", new).await.map(|project| project.number)
        })
    });
    let mut numbers = Vec::new();
    for number in saved.collect::<Vec<_>>() {
        numbers.push(number.await.unwrap().unwrap());
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=20));
    let taken = client.save_numbered("projects", |number| project(&client, "project  3", number)).await;
    assert!(is_taken(&taken.map(drop)));
    client.forget_record::<Project>("local 20", 1).await.unwrap();
    let next = client.save_numbered("projects", |number| project(&client, "The next", number)).await.unwrap();
    assert_eq!(next.number, 21, "the refused one took no number, and the forgotten one keeps its own");
    let eve = world.engine().client(Owner::new("eve"));
    assert_eq!(
        eve.save_numbered("projects", |number| project(&eve, "Project 1", number)).await.unwrap().number,
        1
    );
    let refused = client.save_numbered("a/b", |number| project(&client, "x", number)).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}

/// A person saves, renames, lists and forgets records of one noun below those of another.
#[tokio::test]
async fn records_belong_to_records_and_have_names_of_their_own() {
    let world = world().await;
    let client = world.client();
    let one = client.save_numbered("projects", |number| project(&client, "One", number)).await.unwrap();
    let two = client.save_numbered("projects", |number| project(&client, "Two", number)).await.unwrap();
    client.save(&page(&one, "a", "Read me"), 0).await.unwrap();
    client.save(&page(&two, "b", "Read me"), 0).await.unwrap();
    assert!(is_taken(&client.save(&page(&one, "c", " READ ME "), 0).await));
    client.save(&page(&one, "a", "Old"), 1).await.unwrap();
    client.save(&page(&one, "c", "Read me"), 0).await.unwrap();
    let stale = client.save(&page(&one, "a", "Read me too"), 1).await;
    assert!(
        matches!(stale, Err(Error::Store(StoreError::OtherVersion { expected: 1, found: 2, .. }))),
        "{stale:?}"
    );
    let long = client.save(&page(&one, "d", &"x".repeat(600)), 0).await;
    assert!(matches!(long, Err(Error::Invalid(_))), "{long:?}");

    let listed = client.records(RecordFilter::<Page>::of(Parent::record::<Project>(&one.id))).await.unwrap();
    assert_eq!(
        listed.iter().map(|page| (page.id.as_str(), page.content.is_some())).collect::<Vec<_>>(),
        [("a", false), ("c", false)]
    );
    assert_eq!(client.record::<Page>("a").await.unwrap().content.map(|text| text.len()), Some(4_000));

    let eve = world.engine().client(Owner::new("eve"));
    let theirs = Page { owner: Owner::new("eve"), ..page(&one, "e", "Theirs") };
    assert!(
        matches!(eve.save(&theirs, 0).await, Err(Error::NotFound { .. })),
        "the project is another owner's"
    );
    assert!(matches!(eve.forget_record::<Project>(&one.id, 1).await, Err(Error::NotFound { .. })));
    client.forget_record::<Project>(&one.id, 1).await.unwrap();
    let left = client.records(RecordFilter::<Page>::default()).await.unwrap();
    assert_eq!(left.iter().map(|page| page.id.as_str()).collect::<Vec<_>>(), ["b"]);
    let orphan = client.save(&page(&one, "f", "Orphan"), 0).await;
    assert!(matches!(orphan, Err(Error::NotFound { .. })), "{orphan:?}");
}

/// A record that is forgotten in a living tree leaves a tombstone with an event; the events before it stay, and say no
/// more what it was.
#[tokio::test]
async fn a_record_forgotten_in_a_living_tree_leaves_a_tombstone() {
    let world = world().await;
    let client = world.client();
    let root = world.ask("Hello?").await;
    world.ended(root.id).await;
    let plan = project(&client, "Plan", 1);
    client.save(&plan, 0).await.unwrap();
    let changed = Page { root: Some(root.id), agent: Some(root.id), ..page(&plan, "a", "Read me") };
    client.save(&changed, 0).await.unwrap();
    let before = client.events(root.id, 0, 100).await.unwrap();
    client.forget_record::<Page>("a", 1).await.unwrap();
    let after = client.events(root.id, 0, 100).await.unwrap();
    let (told, others) = before.split_last().unwrap();
    assert_eq!(after[..others.len()], *others);
    assert_eq!(after[others.len()].body, told.body.clone().without_texts());
    assert_ne!(told.body, told.body.clone().without_texts());
    assert_eq!(after.len(), before.len() + 1);
    let left: Vec<Tombstone> =
        client.records(RecordFilter { root: Some(root.id), ..RecordFilter::default() }).await.unwrap();
    assert_eq!(left.iter().map(|left| &left.of).collect::<Vec<_>>(), [&Parent::record::<Page>("a")]);
    assert_eq!(world.audit().await, []);
}

/// Writes a page of the one project, under the name that it is given.
struct WritePage(Parent);

#[async_trait]
impl Tool for WritePage {
    fn name(&self) -> &str {
        "write_page"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let (name, description) = ("write_page", "Writes a page.");
        let parameters =
            json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
        Some(ToolSpec::new(name, description, parameters))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, context: &Context, arguments: Value) -> entourage_tools::Result<Outcome> {
        let page = Page {
            id: context.call.to_string(),
            owner: context.owner.clone(),
            root: Some(context.root),
            agent: Some(context.agent),
            of: self.0.clone(),
            name: arguments["name"].as_str().unwrap_or_default().into(),
            at: context.now,
            content: Some("text".into()),
        };
        Ok(Outcome::Done(Done { text: "written".into(), ..Done::default() }.with_version(&page, 0)?))
    }
}

/// A tool's record whose name is taken is not stored, and the model reads why; the next one is, once, wherever the
/// process dies, also if two calls of one turn write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_tools_take_survive_a_crash_at_every_commit() {
    let model = || {
        ScriptedModel::deciding(|request: &Request| {
            let write = |name: &str| json!({"name": name});
            Some(Ok(match request.messages.last() {
                Some(Message::User(_)) => Script::call("write_page", write("Read me")),
                Some(Message::Output { text, .. }) if request.messages.len() == 3 => {
                    assert_eq!(text, "written");
                    Script::call("write_page", write("read  me")).and_call("write_page", write("Other"))
                }
                Some(Message::Output { .. }) => Script::text("All done."),
                other => Script::text(format!("unexpected {other:?}")),
            }))
        })
    };
    let story = Story::new(["Go."], move |_| {
        let store = MemoryStore::default();
        let owner = Owner::local();
        let of = Project {
            id: "p".into(),
            owner,
            root: None,
            name: "P".into(),
            number: 1,
            at: Time::from_micros(0),
        };
        let store = Arc::new(store);
        futures::executor::block_on(async {
            let write = entourage_store::Write::record(&of).unwrap();
            entourage_store::Store::commit(&*store, entourage_store::Commit::new(of.at).write(write))
                .await
                .unwrap();
        });
        let tools = Toolbox::new().with(WritePage(Parent::record::<Project>("p")));
        World::builder(model()).tools(tools).kinds(one_kind(|_| {})).store((*store).clone())
    })
    .any_order();
    let undisturbed = story.run(1, &[]).await;
    let lines = undisturbed.transcripts.concat();
    let refused = lines.iter().filter(|line| line.starts_with("output!: another test_page")).count();
    let written = lines.iter().filter(|line| *line == "output: written").count();
    assert_eq!((refused, written), (1, 2), "{lines:?}");
    assert!(story.survives([1, 2], 3).await > 10);
}
