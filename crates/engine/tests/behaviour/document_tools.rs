//! Documents as agents write them: with the output of the call, by the rules that hold for a person, and once wherever
//! the process dies.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use entourage_engine::{Client, Engine, ExpectedVersion, Kinds, Page};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, Expect, MemoryStore, Result as StoreResult, Store, StoreLayer, Write,
};
use entourage_testkit::{Story, World};
use entourage_tools::{
    Caller, Context, CreateDocument, Done, EditDocument, Effect, Outcome, RewriteDocument, Tool, Toolbox,
};
use entourage_types::{
    Agent, Change, DocumentId, Editor, EntityKind, ItemBody, Kind, Output, Owner, Project, ProjectId, Time,
    ToolSpec,
};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::{
    documents::{content, new, new_project, renamed, versions},
    kit::{bare, first_tools},
};

/// A kind that names the document tools.
fn editor() -> Kinds {
    let tools = [
        "list_documents",
        "read_document",
        "search_documents",
        "create_document",
        "edit_document",
        "rewrite_document",
    ];
    Kinds::none().with(Kind { tools: Some(tools.map(str::to_owned).to_vec()), ..bare("assistant") })
}

/// A model that makes these calls, each element in one turn, then ends.
fn calling(turns: Vec<Script>) -> ScriptedModel {
    ScriptedModel::new(turns.into_iter().chain([Script::text("Done.")]))
}

async fn outputs(client: &Client, agent: &Agent) -> Vec<Output> {
    let items = client.items(agent.id, 0, u32::MAX).await.unwrap();
    let output = |body| match body {
        ItemBody::Output(output) => Some(output),
        _ => None,
    };
    items.into_iter().filter_map(|item| output(item.body)).collect()
}

fn texts(outputs: &[Output]) -> Vec<(&str, bool)> {
    outputs.iter().map(|output| (output.text.as_str(), output.error)).collect()
}

/// Shows: S5-R062, S5-R065, S5-R076, S5-R078.
#[tokio::test]
async fn an_agent_creates_and_changes_documents_as_an_editor_of_its_own() {
    let soup = json!({"name": "Soup", "content": "Water and salt.", "standing_instruction": "Short.", "summary": "new"});
    let edit = |old: &str, new: &str| json!({"document": "soup", "edits": [{"old": old, "new": new}]});
    let model = calling(vec![
        Script::call("create_document", soup),
        Script::call("create_document", json!({"name": " SOUP "})),
        // Two calls of one turn edit one document.
        Script::call("edit_document", edit("Water", "Wine"))
            .and_call("edit_document", edit("salt", "pepper")),
        Script::call("rewrite_document", json!({"document": "Soup", "content": "Beer."})),
        Script::call("rewrite_document", json!({"document": "Soup", "content": "Beer.", "shrink": true})),
        Script::call("search_documents", json!({"query": "beer"})),
    ]);
    let world = World::builder(model)
        .kinds(editor())
        .tools(first_tools())
        .store(MemoryStore::default())
        .start()
        .await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await;
    let agent = world.ask("Go.").await;
    world.ended(agent.id).await;
    let outputs = outputs(&client, &agent).await;
    let said = texts(&outputs);
    assert_eq!(said[0], ("Created the document `Soup` in the project `Kitchen`.", false));
    assert!(said[1].1 && said[1].0.contains("there is another document called `SOUP`"), "{:?}", said[1]);
    assert_eq!(said[2..4], [("Changed one section of `Soup`.", false); 2]);
    assert!(said[4].1 && said[4].0.contains("the document was not changed"), "{:?}", said[4]);
    assert_eq!(said[5..], [("Rewrote `Soup`: it has 5 characters now.", false), ("- `Soup`: Beer.", false)]);
    let documents = client.documents(kitchen.id).await.unwrap();
    assert_eq!(documents.len(), 1);
    let head = &documents[0].head;
    assert_eq!((&*documents[0].content, &*head.standing_instruction, head.number), ("Beer.", "Short.", 1));
    assert_eq!(outputs[0].details, Some(json!({"document": head.id})));
    let run = client.runs(agent.id, Page::default()).await.unwrap()[0].id;
    let kept = versions(&client, head.id).await;
    let of_agent = Editor::Agent { agent: agent.id, run: Some(run) };
    assert!(kept.iter().all(|version| version.editor == of_agent));
    let told: Vec<_> = kept.iter().map(|kept| (kept.change, &*kept.content, &*kept.summary)).collect();
    assert_eq!(told[0], (Change::Created, "Water and salt.", "new"));
    assert_eq!(told[2..], [(Change::Edited, "Wine and pepper.", ""), (Change::Edited, "Beer.", "")]);
    assert_eq!(world.audit().await, []);
}

/// Shows: S5-R064.
#[tokio::test]
async fn a_kind_says_how_much_of_a_document_a_rewrite_leaves() {
    for (min_kept_percent, is_refused) in [(0, false), (50, true), (60, true), (40, false)] {
        let content = "0123456789";
        let model = calling(vec![
            Script::call("create_document", json!({"name": "Soup", "content": content})),
            Script::call("rewrite_document", json!({"document": "Soup", "content": content[..4]})),
        ]);
        let mut kind = Kind::clone(&editor().named("assistant").unwrap());
        kind.limits.min_kept_percent = min_kept_percent;
        let kinds = Kinds::none().with(kind);
        let store = MemoryStore::default();
        let world = World::builder(model).kinds(kinds).tools(first_tools()).store(store).start().await;
        new_project(&world.client(), "Kitchen").await;
        let agent = world.ask("Go.").await;
        world.ended(agent.id).await;
        let outputs = outputs(&world.client(), &agent).await;
        assert_eq!(outputs[1].error, is_refused, "{min_kept_percent}: {}", outputs[1].text);
    }
}

/// What a tool does between the call of another and its outcome.
type Meanwhile = Box<dyn Fn(Client) -> futures::future::BoxFuture<'static, ()> + Send + Sync>;

/// A document tool during whose calls a person does something.
struct Meddled<T> {
    tool: T,
    client: Arc<OnceLock<Client>>,
    meanwhile: Meanwhile,
}

#[async_trait]
impl<T: Tool> Tool for Meddled<T> {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        self.tool.offer(caller)
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    async fn call(&self, context: &Context, arguments: Value) -> entourage_tools::Result<Outcome> {
        let outcome = self.tool.call(context, arguments).await;
        (self.meanwhile)(self.client.get().unwrap().clone()).await;
        outcome
    }
}

/// Lets an agent make this call while a person does something about `Soup`, which has the text `Water and salt.`.
/// Returns the output, the document and the world.
async fn meddled<F: Future<Output = ()> + Send + 'static>(
    tool: impl Tool,
    arguments: Value,
    meanwhile: impl Fn(Client, ProjectId, DocumentId) -> F + Send + Sync + 'static,
) -> (Output, World, ProjectId) {
    let (client, place) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::<(ProjectId, DocumentId)>::new()));
    let (name, known) = (tool.name().to_owned(), Arc::clone(&place));
    let meanwhile: Meanwhile = Box::new(move |client| {
        let (project, document) = *known.get().unwrap();
        meanwhile(client, project, document).boxed()
    });
    let tools = Toolbox::new().with(Meddled { tool, client: Arc::clone(&client), meanwhile });
    let model = calling(vec![Script::call(&name, arguments)]);
    let world =
        World::builder(model).kinds(editor()).tools(tools).store(MemoryStore::default()).start().await;
    let own = world.client();
    let kitchen = new_project(&own, "Kitchen").await.id;
    let soup = own.create_document(new(kitchen, "Soup", "Water and salt.")).await.unwrap().head.id;
    (client.set(own.clone()).is_ok() && place.set((kitchen, soup)).is_ok()).then_some(()).unwrap();
    let agent = world.ask("Go.").await;
    world.ended(agent.id).await;
    assert_eq!(world.audit().await, []);
    (outputs(&own, &agent).await.remove(0), world, kitchen)
}

/// Sections are replaced in the document as it is when they are stored: what a person did meanwhile stays.
///
/// Shows: S5-R125.
#[tokio::test]
async fn an_edit_keeps_what_others_changed_meanwhile() {
    let edit = json!({"document": "Soup", "edits": [{"old": "Water", "new": "Wine"}]});
    let (output, world, kitchen) = meddled(EditDocument, edit.clone(), |client, _, soup| async move {
        client.change_document(soup, content("Water and pepper."), ExpectedVersion::Any).await.unwrap();
    })
    .await;
    assert_eq!((&*output.text, output.error), ("Changed one section of `Soup`.", false));
    let soup = client_document(&world, kitchen, "Soup").await;
    assert_eq!(soup, Some(("Wine and pepper.".to_owned(), 3)));

    let (output, world, kitchen) = meddled(EditDocument, edit, |client, _, soup| async move {
        client.change_document(soup, content("Beer."), ExpectedVersion::Any).await.unwrap();
    })
    .await;
    assert!(
        output.error && output.text.contains("edit 1: the document has nowhere the text `Water`"),
        "{output:?}"
    );
    assert_eq!(client_document(&world, kitchen, "Soup").await, Some(("Beer.".to_owned(), 2)));
}

/// A text that replaces the whole one does so only if that is as the agent read it.
#[tokio::test]
async fn a_rewrite_of_a_document_that_was_changed_meanwhile_stores_nothing() {
    let rewrite = json!({"document": "Soup", "content": "Wine and sugar."});
    let (output, world, kitchen) = meddled(RewriteDocument, rewrite.clone(), |client, _, soup| async move {
        client.change_document(soup, content("Beer."), ExpectedVersion::Any).await.unwrap();
    })
    .await;
    assert!(
        output.error && output.text.contains("has version 2, not 1") && output.text.contains("Read it again"),
        "{output:?}"
    );
    assert_eq!(client_document(&world, kitchen, "Soup").await, Some(("Beer.".to_owned(), 2)));

    let (output, world, kitchen) = meddled(RewriteDocument, rewrite, |client, _, soup| async move {
        client.delete_document(soup, ExpectedVersion::Any).await.unwrap();
    })
    .await;
    assert!(output.error && output.text.contains("there is no document"), "{output:?}");
    assert_eq!(client_document(&world, kitchen, "Soup").await, None);
}

/// Shows: S5-R078.
#[tokio::test]
async fn a_name_that_is_taken_meanwhile_is_an_error_of_the_call() {
    let create = json!({"name": "Bread"});
    let (output, world, kitchen) = meddled(CreateDocument, create.clone(), |client, _, soup| async move {
        client.change_document(soup, renamed("bread"), ExpectedVersion::Any).await.unwrap();
    })
    .await;
    assert!(output.error && output.text.contains("another document called `Bread`"), "{output:?}");
    assert_eq!(world.client().documents(kitchen).await.unwrap().len(), 1);
    // The number that another creation took meanwhile is not given twice.
    let (output, world, kitchen) = meddled(CreateDocument, create.clone(), |client, project, _| async move {
        client.create_document(new(project, "Cake", "")).await.unwrap();
    })
    .await;
    assert!(!output.error, "{output:?}");
    let numbers = world.client().documents(kitchen).await.unwrap();
    assert_eq!(numbers.iter().map(|document| document.head.number).collect::<Vec<_>>(), [1, 2, 3]);
    let (output, ..) = meddled(CreateDocument, create, |client, project, _| async move {
        client.delete_project(project).await.unwrap();
    })
    .await;
    assert!(output.error && output.text.contains("there is no project"), "{output:?}");
}

/// Another writer that is first, twice for each edit and each creation of an agent.
#[derive(Default)]
struct Overtaken {
    edits: AtomicU32,
    creations: AtomicU32,
}

#[async_trait]
impl StoreLayer for Overtaken {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> StoreResult<Committed> {
        let is_of_document =
            |write: &Write| matches!(write, Write::Record(record, _) if record.kind == EntityKind::DOCUMENT);
        let counts = |expect: &Expect| matches!(expect, Expect::Version(EntityKind::COUNTER, ..));
        if commit.fence.is_some() && commit.writes.iter().any(is_of_document) {
            let model = Arc::new(ScriptedModel::new([]));
            let other = Engine::builder(Arc::clone(store), model).build().client(Owner::local());
            let kitchen = other.project_named("Kitchen").await.unwrap().unwrap().id;
            if !commit.expect.iter().any(counts) {
                if self.edits.fetch_add(1, Ordering::SeqCst) < 2 {
                    let soup = other.document_named(kitchen, "Soup").await.unwrap().unwrap();
                    let change = content(format!("{} More.", soup.content));
                    other.change_document(soup.head.id, change, ExpectedVersion::Any).await.unwrap();
                }
            } else {
                let n = self.creations.fetch_add(1, Ordering::SeqCst);
                if n < 2 {
                    other.create_document(new(kitchen, &format!("Other {n}"), "")).await.unwrap();
                }
            }
        }
        store.commit(commit).await
    }
}

/// A call that finds its version or its number taken in the commit of its output begins again, with what is there then.
#[tokio::test]
async fn an_edit_that_loses_the_race_for_a_version_begins_again() {
    let edit = json!({"document": "Soup", "edits": [{"old": "Water", "new": "Wine"}]});
    let model = calling(vec![
        Script::call("edit_document", edit),
        Script::call("create_document", json!({"name": "Bread"})),
    ]);
    let world = World::builder(model).kinds(editor()).tools(first_tools()).store(MemoryStore::default());
    let world = world.between(Overtaken::default()).start().await;
    let client = world.client();
    let kitchen = new_project(&client, "Kitchen").await.id;
    let soup = client.create_document(new(kitchen, "Soup", "Water.")).await.unwrap().head.id;
    let agent = world.ask("Go.").await;
    world.ended(agent.id).await;
    let outputs = outputs(&client, &agent).await;
    assert!(outputs.iter().all(|output| !output.error), "{outputs:?}");
    assert_eq!(versions(&client, soup).await.last().unwrap().content, "Wine. More. More.");
    let documents = client.documents(kitchen).await.unwrap();
    let numbers: Vec<_> =
        documents.iter().map(|document| (&*document.head.name, document.head.number)).collect();
    assert_eq!(numbers, [("Soup", 1), ("Other 0", 2), ("Other 1", 3), ("Bread", 4)]);
}

/// The text and the version of the document of this name.
async fn client_document(world: &World, project: ProjectId, name: &str) -> Option<(String, u64)> {
    let found = world.client().document_named(project, name).await.unwrap()?;
    Some((found.content, found.head.version))
}

/// Shows: S5-R058.
#[tokio::test]
async fn an_agent_reaches_no_documents_of_another_owner() {
    let theirs = OnceLock::new();
    let world = World::builder(ScriptedModel::deciding(|request: &Request| {
        let id = request.messages.iter().find_map(|message| match message {
            Message::User(id) => Some(id.clone()),
            _ => None,
        });
        Some(Ok(match request.messages.len() {
            1 => Script::call("read_document", json!({"document": id}))
                .and_call("edit_document", json!({"document": id, "edits": [{"old": "Red", "new": "Black"}]}))
                .and_call("search_documents", json!({"query": "red"}))
                .and_call("list_documents", json!({"project": "Garden"})),
            _ => Script::text("Done."),
        }))
    }))
    .kinds(editor())
    .tools(first_tools())
    .store(MemoryStore::default())
    .start()
    .await;
    let eve = world.engine().client(Owner::new("eve"));
    let garden = new_project(&eve, "Garden").await;
    let roses = eve.create_document(new(garden.id, "Roses", "Red.")).await.unwrap();
    theirs.set(roses.head.id).unwrap();
    new_project(&world.client(), "Kitchen").await;
    let agent = world.ask(&roses.head.id.to_string()).await;
    world.ended(agent.id).await;
    let outputs = outputs(&world.client(), &agent).await;
    assert!(
        outputs.iter().all(|output| !output.text.contains("Red") && !output.text.contains("Roses")),
        "{outputs:?}"
    );
    assert_eq!(outputs.iter().map(|output| output.error).collect::<Vec<_>>(), [true, true, false, true]);
    assert_eq!(eve.document(roses.head.id).await.unwrap(), roses);
}

/// A tool of an application that writes a document as a record of its own.
struct Forger(ProjectId);

#[async_trait]
impl Tool for Forger {
    fn name(&self) -> &str {
        "list_documents"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("list_documents", "Forges.", json!({"type": "object"})))
    }

    async fn call(&self, context: &Context, _: Value) -> entourage_tools::Result<Outcome> {
        let project = Project {
            id: self.0,
            owner: context.owner.clone(),
            number: 7,
            name: "Forged".into(),
            description: String::new(),
            created: context.now,
            updated: context.now,
        };
        Ok(Outcome::Done(Done::default().with(&project)?))
    }
}

#[tokio::test]
async fn a_tool_of_an_application_writes_no_documents() {
    let model = calling(vec![Script::call("list_documents", json!({}))]);
    let tools = Toolbox::new().with(Forger(ProjectId::new()));
    let world =
        World::builder(model).kinds(editor()).tools(tools).store(MemoryStore::default()).start().await;
    let agent = world.ask("Go.").await;
    world.ended(agent.id).await;
    let outputs = outputs(&world.client(), &agent).await;
    assert_eq!(texts(&outputs), [("tools cannot write records of kind `project`", true)]);
    assert_eq!(world.client().project_named("Forged").await.unwrap(), None);
}

/// Each writing tool, refused and not, with two calls in one turn: what is on record at the end is the same wherever the
/// process dies, and each change is made once.
///
/// Shows: S5-R125, S5-R126.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_agents_write_into_documents_survives_a_crash_at_every_commit() {
    let edit = |old: &str, new: &str| json!({"document": "Soup", "edits": [{"old": old, "new": new}]});
    let rewrite = |shrink: bool| json!({"document": "Soup", "content": "Beer.", "shrink": shrink});
    let model = move |request: &Request| match request.messages.len() {
        1 => Script::call("create_document", json!({"name": "Soup", "content": "Water and salt."})),
        3 => Script::call("create_document", json!({"name": "soup"}))
            .and_call("create_document", json!({"name": "Bread"})),
        6 => Script::call("edit_document", edit("Water", "Wine"))
            .and_call("edit_document", edit("salt", "pepper")),
        9 => Script::call("read_document", json!({"document": "Soup"})),
        11 => Script::call("rewrite_document", rewrite(false)),
        13 => Script::call("rewrite_document", rewrite(true)),
        15 => Script::call("list_documents", json!({})),
        17 => Script::text("All done."),
        n => Script::text(format!("unexpected length {n}")),
    };
    let kitchen = Project {
        id: ProjectId::new(),
        owner: Owner::local(),
        number: 1,
        name: "Kitchen".into(),
        description: String::new(),
        created: Time::from_micros(0),
        updated: Time::from_micros(0),
    };
    let story = Story::new(["Go."], move |_| {
        let store = MemoryStore::default();
        let commit = Commit::new(kitchen.created).write(Write::record(&kitchen).unwrap());
        futures::executor::block_on(store.commit(commit)).unwrap();
        let model = ScriptedModel::deciding(move |request| Some(Ok(model(request))));
        World::builder(model).tools(first_tools()).kinds(editor()).store(store)
    })
    .any_order();
    let lines = story.run(1, &[]).await.transcripts.concat();
    for said in ["version 3, characters 0 to 16 of 16", "- `Soup`, version 4", "- `Bread`, version 1"] {
        assert!(lines.iter().any(|line| line.contains(said)), "{said}: {lines:#?}");
    }
    assert!(story.survives([1, 2], 3).await > 10);
}
