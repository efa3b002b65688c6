//! What a person sets of an exploration is noticed at any moment: in a decision, between two pieces of an answer, in a
//! tool, and while a child works.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_engine::Overrides;
use entourage_llm::{Delta, Deltas, Message, Model, Reply, Request, Script, ScriptedModel};
use entourage_testkit::{Asked, World, texts};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool};
use entourage_types::{Agent, AgentState, Annotations, Owner, ToolSpec, Unread};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::kit::{
    eventually,
    explorer::{CLEAR, Child, Mind, explorers},
    first_tools,
};

/// Where an exploration is when a person intervenes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Decision,
    BetweenPieces,
    Tool,
    ChildsCall,
    Summary,
}

impl Moment {
    const ALL: [Self; 5] = [Self::Decision, Self::BetweenPieces, Self::Tool, Self::ChildsCall, Self::Summary];

    /// What the model is asked for in this moment; in a tool it is asked for nothing.
    fn asked(self) -> Option<Asked> {
        match self {
            Self::Decision => Some(Asked::Clarify),
            Self::BetweenPieces => Some(Asked::Main),
            Self::Tool => None,
            Self::ChildsCall => Some(Asked::Child(0)),
            Self::Summary => Some(Asked::Summary),
        }
    }
}

/// Holds the first that comes until the test lets it go on.
#[derive(Debug, Default)]
struct Gate {
    has_held: AtomicBool,
    begun: Notify,
    let_go: Notify,
    dropped: AtomicUsize,
}

/// Counts what was dropped while it was held.
struct Counted<'a>(Option<&'a AtomicUsize>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some(dropped) = self.0 {
            dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Gate {
    async fn hold(&self) {
        if self.has_held.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut held = Counted(Some(&self.dropped));
        self.begun.notify_one();
        self.let_go.notified().await;
        held.0 = None;
    }
}

/// A model whose call in that moment is held, after the first piece of its answer where there is one.
struct HeldAt {
    moment: Moment,
    model: ScriptedModel,
    gate: Arc<Gate>,
}

#[async_trait]
impl Model for HeldAt {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        if self.moment.asked() == Some(Asked::by(&request)) {
            if self.moment == Moment::BetweenPieces {
                deltas.delta(Delta::Text("the main ".into()));
            }
            self.gate.hold().await;
        }
        self.model.call(request, deltas).await
    }

    fn describe(&self) -> String {
        "held at a moment".into()
    }
}

/// A tool that is held at the gate.
struct Look(Arc<Gate>);

#[async_trait]
impl Tool for Look {
    fn name(&self) -> &str {
        "look"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("look", "Takes its time.", json!({"type": "object", "properties": {}})))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        self.0.hold().await;
        Ok(Outcome::text("nothing new"))
    }
}

/// An exploration that is held at a moment.
struct Held {
    world: World,
    root: Agent,
    model: ScriptedModel,
    gate: Arc<Gate>,
}

impl Held {
    async fn at(moment: Moment) -> Self {
        let mind = Mind {
            subquestions: usize::from(moment == Moment::ChildsCall),
            child: |_| Child::Finds,
            ..CLEAR
        };
        let model = ScriptedModel::deciding(move |request| {
            let has_looked = request.messages.iter().any(|said| matches!(said, Message::Output { .. }));
            let looks = moment == Moment::Tool && Asked::by(request) == Asked::Main && !has_looked;
            Some(if looks { Ok(Script::call("look", json!({}))) } else { mind.answer(request) })
        });
        let gate = Arc::<Gate>::default();
        let held = HeldAt { moment, model: model.clone(), gate: Arc::clone(&gate) };
        let kinds = explorers(|kind| kind.tools.get_or_insert_default().push("look".into()));
        let tools = first_tools().with(Look(Arc::clone(&gate)));
        let world = World::builder(held).tools(tools).kinds(kinds).start().await;
        let root = world.ask("Go.").await;
        gate.begun.notified().await;
        Self { world, root, model, gate }
    }

    async fn set(&self, comment: &str, content: Option<&str>) {
        let [comment, content] = [Some(comment), content].map(|text| text.map(str::to_owned));
        let overrides = Overrides { comment, content, state: None };
        let name = self.root.id.to_string();
        // A client of the process that works.
        let person = self.world.engine().client(Owner::local());
        assert!(person.user_intervention(&name, &overrides).await.unwrap());
    }

    async fn comment_shown(&self) -> (AgentState, String) {
        let shown = self.world.client().shown_agent(&self.root.id.to_string()).await.unwrap();
        (shown.state, shown.comment)
    }

    /// Waits for the end and until this many calls of the model or a tool were dropped, and returns what the model was
    /// asked for.
    async fn end(&self, state: AgentState, dropped: usize) -> Vec<Asked> {
        assert_eq!(self.world.ended(self.root.id).await.state(Unread::Nothing), state);
        let counted = async || self.gate.dropped.load(Ordering::SeqCst);
        eventually("what was in progress is dropped", counted, |counted| *counted == dropped).await;
        assert_eq!(self.world.audit().await, []);
        self.model.requests().iter().map(Asked::by).collect()
    }
}

/// Shows: S3-R012, S3-R048.
#[tokio::test]
async fn an_annotation_is_kept_and_shown_and_changes_nothing_of_the_work() {
    for moment in Moment::ALL {
        let undisturbed = Held::at(moment).await;
        undisturbed.gate.let_go.notify_one();
        let expected = undisturbed.end(AgentState::Completed, 0).await;

        let held = Held::at(moment).await;
        let before = held.comment_shown().await;
        assert_eq!(before.1, Annotations::UNCHANGED);
        held.set("Looks good.", None).await;
        assert_eq!(held.comment_shown().await, (before.0, "Looks good.".to_owned()), "{moment:?}");
        held.gate.let_go.notify_one();
        assert_eq!(held.end(AgentState::Completed, 0).await, expected, "{moment:?}");
        let read: Vec<String> = held.model.requests().iter().map(texts).collect();
        assert!(!read.concat().contains("Looks good."), "{moment:?}: {read:?}");
        assert_eq!(held.comment_shown().await.1, "Looks good.", "after the end, too");
    }
}

/// Shows: S3-R010, S3-R046, S3-R047.
#[tokio::test]
async fn a_deletion_is_noticed_at_any_moment_and_drops_what_is_in_progress() {
    for moment in Moment::ALL {
        let held = Held::at(moment).await;
        let before = held.model.requests().len();
        held.set("delete", None).await;
        assert_eq!(held.end(AgentState::Deleted, 1).await.len(), before, "{moment:?}");
        assert!(held.world.client().active_tree(None).await.unwrap().agents.is_empty());
    }
}

/// Shows: S3-R011, S3-R046, S3-R047.
#[tokio::test]
async fn a_new_instruction_is_noticed_at_any_moment_and_begins_the_step_anew() {
    for moment in Moment::ALL {
        let held = Held::at(moment).await;
        held.set("modify", Some("Elsewhere.")).await;
        let asked = held.end(AgentState::Completed, 1).await;
        let requests = held.model.requests();
        // The step that it met is made with the new instruction, and so is all that follows.
        let step = match moment {
            Moment::Decision => Asked::Clarify,
            Moment::BetweenPieces | Moment::Tool | Moment::ChildsCall => Asked::Subquestions,
            Moment::Summary => Asked::Summary,
        };
        let anew = requests.iter().rposition(|request| Asked::by(request) == step).unwrap();
        for request in
            requests[anew..].iter().filter(|request| !matches!(Asked::by(request), Asked::Child(_)))
        {
            assert!(texts(request).contains("Elsewhere."), "{moment:?}: {:?}", Asked::by(request));
        }
        assert_eq!(asked.last(), Some(&Asked::Summary), "{moment:?}");
    }
}
