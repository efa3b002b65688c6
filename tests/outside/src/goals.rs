//! A noun of one's own: goals, with a tool that sets them, events, a list and a search.

use entourage::{
    Client, Tool, async_trait,
    engine::{self, RecordFilter},
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
    serde_json::{self, Value},
    tools::{self, Caller, Context, Done, Effect, Outcome, RecordQuery, RecordScope, find, parse, spec_of},
    types::{AgentId, Columns, EntityKind, Owner, Record, RecordEvent, Time, ToolSpec},
};

/// Something that an agent wants to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "entourage::serde")]
pub struct Goal {
    /// Its id.
    pub id: String,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree that it belongs to.
    pub root: AgentId,
    /// The agent that wants it.
    pub agent: AgentId,
    /// What is wanted.
    pub text: String,
    /// Whether it is reached.
    pub reached: bool,
    /// When it was set.
    pub created: Time,
}

impl Record for Goal {
    const KIND: EntityKind = EntityKind::new("goal");
    type Status = &'static str;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: if self.reached { "reached" } else { "open" },
            created: self.created,
            updated: self.created,
            name: None,
            text: Some(self.text.clone()),
        }
    }

    fn event(&self) -> serde_json::Result<Option<RecordEvent>> {
        RecordEvent::of(self, self.root, self.agent).map(Some)
    }
}

/// Sets a goal, unless the tree has one with the same words.
pub struct SetGoal;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "entourage::serde")]
#[schemars(crate = "entourage::schemars")]
struct Arguments {
    /// What is wanted.
    text: String,
}

#[async_trait]
impl Tool for SetGoal {
    fn name(&self) -> &str {
        "set_goal"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>("set_goal", "Set a goal."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, context: &Context, arguments: Value) -> tools::Result<Outcome> {
        let Arguments { text } = parse("set_goal", arguments)?;
        let query = RecordQuery { words: Some(text.clone()), ..RecordQuery::of::<Goal>(RecordScope::Tree) };
        if !find::<Goal>(&*context.reader, query).await?.is_empty() {
            return Ok(Outcome::text("it is a goal already"));
        }
        let goal = Goal {
            id: context.call.to_string(),
            owner: context.owner.clone(),
            root: context.root,
            agent: context.agent,
            text,
            reached: false,
            created: context.now,
        };
        Ok(Outcome::Done(Done { text: "set".into(), ..Done::default() }.with(&goal)?))
    }
}

/// The goals of an owner that are not reached, by words if there are any.
///
/// # Errors
/// When the store fails.
pub async fn open_goals(client: &Client, words: Option<&str>) -> engine::Result<Vec<Goal>> {
    let words = words.map(str::to_owned);
    client.records(RecordFilter { status: Some("open"), words, ..RecordFilter::default() }).await
}
