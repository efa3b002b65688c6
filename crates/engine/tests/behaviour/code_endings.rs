//! What comes while the code of a call ends, and what waits for that end.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, MemoryStore, Page, Result as StoreResult, Store, StoreLayer, Write,
};
use entourage_testkit::{World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool};
use entourage_types::{Action, Agent, Answer, ItemBody, Status, ToolSpec};
use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::Semaphore};

use crate::{
    code_calls::{Body, mind},
    kit::{Code, CodeTool, Waits, WorldExt, eventually, first_tools, one_kind, within},
};

/// A place at which something waits until a test lets it go on.
#[derive(Clone)]
struct Gate(Arc<[Semaphore; 2]>);

impl Gate {
    fn new() -> Self {
        Self(Arc::new([Semaphore::new(0), Semaphore::new(0)]))
    }

    /// Waits until the test lets it pass; from then on it is open.
    async fn pass(&self) {
        self.0[0].add_permits(1);
        drop(self.0[1].acquire().await.unwrap());
    }

    /// Waits until something is there.
    async fn reached(&self) {
        within("something waits at the gate", self.0[0].acquire()).await.unwrap().forget();
    }

    fn open(&self) {
        self.0[1].add_permits(1);
    }
}

/// Forks an agent that asks a person, and ends with the result of another.
fn leaves_one(code: &mut Code) -> Result<String, Waits> {
    let quick = {
        code.fork("ask someone");
        code.fork("A")
    };
    code.ask("Ready?")?;
    code.wait(quick).map(|output| output.text)
}

/// When the result comes of an agent that code does not wait for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// The code has not ended, and its run listens.
    BeforeTheEnd,
    /// The run has listened for the last time before it learns that the code has ended.
    WithTheEnd,
    /// The commit that ends what the code has left is being written.
    DuringTheCommit,
}

/// A tool that runs this code, and takes a while for its end.
struct EndsLate(CodeTool, Gate, Comes);

#[async_trait]
impl Tool for EndsLate {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        self.0.offer(caller)
    }

    fn effect(&self) -> Effect {
        self.0.effect()
    }

    fn comes_with(&self) -> &[&str] {
        self.0.comes_with()
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome, Error> {
        let outcome = self.0.call(context, arguments).await?;
        match (&outcome, self.2) {
            (Outcome::Done(_), Comes::BeforeTheEnd) => self.1.pass().await,
            // It keeps the thread, and with it the run from listening.
            (Outcome::Done(_), Comes::WithTheEnd) => {
                tokio::task::block_in_place(|| Handle::current().block_on(self.1.pass()));
            }
            _ => {}
        }
        Ok(outcome)
    }
}

/// A store that takes a while for the commit that ends what code has left.
struct CommitsLate(Option<Gate>);

#[async_trait]
impl StoreLayer for CommitsLate {
    async fn pass(&self) -> StoreResult<()> {
        Ok(())
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> StoreResult<Committed> {
        let leaves = |write: &Write| match write {
            Write::Item(item) => match &item.body {
                ItemBody::SubOutput(of_code) => of_code.output.text.contains("without waiting for it"),
                _ => false,
            },
            _ => false,
        };
        if let Some(gate) = self.0.as_ref().filter(|_| commit.writes.iter().any(leaves)) {
            gate.pass().await;
        }
        store.commit(commit).await
    }
}

/// Ends the agent that code has left once the end of that code, or its commit, has come to the gate, where the run reads its
/// result or not; returns the root's transcript.
async fn result_at_the_end(world: &World, gate: &Gate, is_read: bool) -> Vec<String> {
    let root = world.ask("Go.").await;
    let client = world.client();
    let open = async || client.questions(Some(root.id), None, Page::default()).await.unwrap();
    let questions = eventually("both ask", open, |all| all.len() == 2).await;
    let (own, childs): (Vec<_>, Vec<_>) = questions.into_iter().partition(|asked| asked.agent == root.id);
    world.asleep(&root).await;
    client.answer(own[0].id, Answer::Text("yes".into())).await.unwrap();
    gate.reached().await;

    client.answer(childs[0].id, Answer::Text("blue".into())).await.unwrap();
    assert_eq!(world.ended(childs[0].agent).await.status, Status::Succeeded);
    let posts = async || world.engine().store().inbox(root.id).await.unwrap().len();
    let lines = async || plain(&client.items(root.id, 0, 100).await.unwrap());
    if is_read {
        let has_result = |lines: &Vec<String>| lines.iter().any(|line| line == "to code: (blue)");
        eventually("its result has been read", lines, has_result).await;
    } else {
        eventually("its result is in the inbox", posts, |posts| *posts == 1).await;
    }
    gate.open();

    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let tasks = client.tasks(Some(root.id), None, Page::default()).await.unwrap();
    assert_eq!(tasks.iter().map(|task| task.status).collect::<Vec<_>>(), [Status::Succeeded; 2]);
    assert_eq!(world.audit().await, []);
    assert_eq!(world.inconsistencies().await, [""; 0]);
    plain(&client.items(root.id, 0, 100).await.unwrap())
}

/// It is the output of the call that asked for it, once, and no message to the agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_comes_while_the_code_ends_is_that_of_its_call() {
    for comes in [Comes::BeforeTheEnd, Comes::WithTheEnd, Comes::DuringTheCommit] {
        let gate = Gate::new();
        let tools =
            first_tools().with(EndsLate(CodeTool::new(|code, _| leaves_one(code)), gate.clone(), comes));
        let at_commit = (comes == Comes::DuringTheCommit).then(|| gate.clone());
        let builder = World::builder(mind()).tools(tools).kinds(one_kind(|_| {}));
        let world = builder.store(MemoryStore::default()).between(CommitsLate(at_commit)).start().await;
        let lines = result_at_the_end(&world, &gate, comes == Comes::BeforeTheEnd).await;
        let of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((of("message"), of("to code")), (1, 3), "{comes:?}: {lines:#?}");
        assert!(lines.contains(&"to code: (blue)".to_owned()), "{comes:?}: {lines:#?}");
        assert_eq!(lines.last().unwrap(), "turn: (did A)[]");
    }
}

/// A world whose model also summarises sessions.
async fn with_summaries(code: Body) -> World {
    let decides = |request: &Request| {
        if request.system.starts_with("You keep the records") {
            return Script::text("They did it.");
        }
        match request.messages.last() {
            Some(Message::User(text)) if text == "Go." => Script::call("code", json!({})),
            Some(Message::User(text)) if text.starts_with("ask") => {
                Script::call("ask_user", json!({ "question": "Which?" }))
            }
            Some(Message::User(text)) => Script::text(format!("did {text}")),
            Some(Message::Output { text, .. }) => Script::text(format!("({text})")),
            other => Script::text(format!("unexpected {other:?}")),
        }
    };
    let model = ScriptedModel::deciding(move |request| Some(Ok(decides(request))));
    let tools = first_tools().with(CodeTool::new(move |run, _| code(run)));
    World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await
}

/// Nothing that the code has called is lost with the session.
#[tokio::test]
async fn a_session_that_is_to_be_closed_while_code_waits_is_closed_when_its_run_has_ended() {
    let code: Body = |code| {
        let child = code.fork("ask someone");
        code.wait(child).map(|output| output.text)
    };
    let world = with_summaries(code).await;
    let root: Agent = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    let client = world.client();
    client.intervene(root.id, Action::CloseSession, None).await.unwrap();
    world.asleep(&root).await;
    assert_eq!(client.sessions(root.id, Page::default()).await.unwrap(), []);
    client.answer(question.id, Answer::Text("blue".into())).await.unwrap();
    let closed = async || client.sessions(root.id, Page::default()).await.unwrap();
    let sessions = eventually("the session is closed", closed, |all| all.len() == 1).await;
    let lines = plain(&client.items(root.id, 0, 100).await.unwrap());
    let returned = lines.iter().position(|line| line == "output: (blue)").unwrap();
    assert!(sessions[0].items.1 > returned as u64, "{lines:#?}");
    client.send(root.id, "B", None).await.unwrap();
    let last = async || plain(&client.items(root.id, 0, 100).await.unwrap()).pop().unwrap();
    eventually("the next session begins", last, |line| line == "turn: did B[]").await;
    assert_eq!(world.audit().await, []);
}
