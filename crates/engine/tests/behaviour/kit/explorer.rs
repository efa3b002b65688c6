//! Explorations: a model whose decisions a test sets, and what the tests read of them.

use entourage_engine::Kinds;
use entourage_llm::{Error, Message, Model, Request, Result, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Asked, World, WorldBuilder, plain, texts};
use entourage_types::{Agent, Answer, Kind, Run, WaitingOn, tool_names};
use serde_json::{Value, json};

use super::{WorldExt, bare, first_tools};

/// What the model of a test decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mind {
    pub(crate) ambiguous: bool,
    /// How many blocking questions it would ask.
    pub(crate) missing: usize,
    pub(crate) subquestions: usize,
    /// What becomes of the child that explores this part.
    pub(crate) child: fn(usize) -> Child,
    pub(crate) main: MainWork,
    /// Whether the first summary asks.
    pub(crate) uncertain: bool,
}

/// What becomes of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Finds,
    Fails,
    /// It asks the user, and finds something once it is answered.
    Asks,
}

/// What the main work comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MainWork {
    Answers,
    /// It calls one tool after another, until the user has had enough.
    Endless,
    /// It makes the same call again and again.
    GoesInCircles,
}

pub(crate) const CLEAR: Mind = Mind {
    ambiguous: false,
    missing: 0,
    subquestions: 0,
    child: |part| if part == 1 { Child::Fails } else { Child::Finds },
    main: MainWork::Answers,
    uncertain: false,
};
pub(crate) const WHOLE: Mind =
    Mind { ambiguous: true, missing: 1, subquestions: 4, uncertain: true, ..CLEAR };

/// The built-in explorer, under the name of the kind that people ask in tests.
pub(crate) fn explorers(change: impl FnOnce(&mut Kind)) -> Kinds {
    let explorer = Kinds::builtin().named("explorer").unwrap();
    let own = bare("assistant");
    let mut kind = Kind {
        peers: vec![own.name.clone()],
        name: own.name,
        context: own.context,
        ..Kind::clone(&explorer)
    };
    change(&mut kind);
    Kinds::none().with(kind)
}

impl Mind {
    pub(crate) fn model(self) -> ScriptedModel {
        ScriptedModel::deciding(move |request| Some(self.answer(request)))
    }

    pub(crate) fn world(self) -> WorldBuilder {
        self.world_with(self.model(), |_| {})
    }

    /// The same over another model, with another kind.
    pub(crate) fn world_with(self, model: impl Model, change: impl FnOnce(&mut Kind)) -> WorldBuilder {
        let kinds = explorers(|kind| {
            self.let_children_ask(kind);
            change(kind);
        });
        World::builder(model).tools(first_tools()).kinds(kinds)
    }

    fn let_children_ask(self, kind: &mut Kind) {
        if (0..self.subquestions).any(|part| (self.child)(part) == Child::Asks) {
            kind.tools.get_or_insert_default().push(tool_names::ASK_USER.to_owned());
        }
    }

    pub(crate) fn answer(self, request: &Request) -> Result<Script> {
        let read = texts(request);
        let decided = |value: Value| Ok(Script::text(value.to_string()));
        match Asked::by(request) {
            Asked::Clarify => decided(json!({ "ambiguous": self.ambiguous, "question": "Which one?" })),
            Asked::Missing => {
                let asked = read.matches("seven").count();
                decided(json!({ "missing": asked < self.missing, "question": format!("How many? {asked}") }))
            }
            Asked::Subquestions => {
                let parts: Vec<String> = (0..self.subquestions).map(|part| format!("part {part}")).collect();
                decided(json!({ "subquestions": parts }))
            }
            Asked::Summary => {
                let again = read.contains("Metric?");
                let summary = if again { "in metres" } else { "in some unit" };
                let needs_more_info = self.uncertain && !again;
                decided(json!({
                    "summary": summary, "needs_more_info": needs_more_info, "question": "Metric?"
                }))
            }
            Asked::Child(part) => self.answer_of_child(part, request),
            Asked::Main => Ok(self.answer_of_main(request)),
        }
    }

    fn answer_of_child(self, part: usize, request: &Request) -> Result<Script> {
        let is_answered = matches!(request.messages.last(), Some(Message::Output { .. }));
        match (self.child)(part) {
            Child::Asks if !is_answered => {
                Ok(Script::call(tool_names::ASK_USER, json!({ "question": format!("Which part {part}?") })))
            }
            Child::Fails => Err(Error::Refused { model: "m".into(), cause: "it cannot be explored".into() }),
            Child::Asks | Child::Finds => Ok(Script::text(format!("did part {part}"))),
        }
    }

    fn answer_of_main(self, request: &Request) -> Script {
        let query = match self.main {
            MainWork::Answers => return Script::text("the main answer"),
            MainWork::Endless if texts(request).contains("Enough.") => {
                return Script::text("the main answer");
            }
            MainWork::Endless => format!("try {}", request.messages.len()),
            MainWork::GoesInCircles => "again".to_owned(),
        };
        Script::call(tool_names::SEARCH_NOTES, json!({ "query": query }))
    }
}

pub(crate) async fn lines(world: &World, agent: &Agent) -> Vec<String> {
    plain(&world.client().items(agent.id, 0, 200).await.unwrap())
}

/// Answers the question that an agent waits on.
pub(crate) async fn answer(world: &World, agent: &Agent, text: &str, with: Answer) {
    let question = world.question(agent.id).await;
    assert_eq!(question.text, text);
    world.asleep(agent).await;
    assert_eq!(world.client().agent(agent.id).await.unwrap().waiting_on, Some(WaitingOn::User));
    world.client().answer(question.id, with).await.unwrap();
}

/// Answers these questions of an agent, one after the other.
pub(crate) async fn answer_all(world: &World, agent: &Agent, questions: &[&str]) {
    for question in questions {
        let with = if question.starts_with("How many?") { "seven" } else { "yes" };
        answer(world, agent, question, text(with)).await;
    }
}

/// The one run of an agent.
pub(crate) async fn run_of(world: &World, agent: &Agent) -> Run {
    let mut runs = world.client().runs(agent.id, Page::default()).await.unwrap();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

pub(crate) fn text(text: &str) -> Answer {
    Answer::Text(text.into())
}
