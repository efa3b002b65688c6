//! Nouns of one's own: habits, with a tool that sets them, events, a list and a search; and the numbered documents of
//! a habit, whose names are unique and whose long texts a list leaves out.

use entourage::{
    Client, Tool, async_trait,
    engine::{self, RecordFilter},
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
    serde_json::{self, Value},
    tools::{self, Caller, Context, Done, Effect, Outcome, RecordQuery, RecordScope, find, parse, spec_of},
    types::{
        AgentId, Columns, Entity, EntityKind, NewEvent, Owner, Parent, Record, Time, ToolSpec, UniqueName,
    },
};

/// Something that an agent wants to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "entourage::serde")]
pub struct Habit {
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

impl Record for Habit {
    const KIND: EntityKind = EntityKind::new("habit");
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

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        NewEvent::of(self, self.root, self.agent).map(Some)
    }
}

/// A document of a habit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "entourage::serde")]
pub struct Document {
    /// Its number, which no other document of its owner ever has.
    pub number: u64,
    /// The user that owns it.
    pub owner: Owner,
    /// The habit that it belongs to.
    pub habit: String,
    /// Its name, which no other document of the habit has.
    pub name: String,
    /// What it says; none where a list left it out.
    #[serde(skip)]
    pub content: Option<String>,
    /// When it last changed.
    pub updated: Time,
}

impl Record for Document {
    const KIND: EntityKind = EntityKind::new("habit_document");
    type Status = &'static str;

    fn columns(&self) -> Columns {
        let habit = Parent::record::<Habit>(&self.habit);
        Columns {
            id: format!("{}/{}", self.owner, self.number),
            owner: self.owner.clone(),
            root: None,
            name: Some(UniqueName::below(&habit, &self.name)),
            parent: Some(habit),
            status: "current",
            created: self.updated,
            updated: self.updated,
            text: self.content.clone(),
        }
    }

    fn from_entity(entity: &Entity) -> serde_json::Result<Self> {
        Ok(Self { content: entity.text.clone(), ..serde_json::from_str(&entity.body)? })
    }
}

/// Adds a document to a habit, with the next number.
///
/// # Errors
/// When the habit has a document of this name, or does not exist, or the store fails.
pub async fn add_document(
    client: &Client,
    habit: &Habit,
    name: &str,
    content: &str,
) -> engine::Result<Document> {
    let document = |number| Document {
        number,
        owner: habit.owner.clone(),
        habit: habit.id.clone(),
        name: name.to_owned(),
        content: Some(content.to_owned()),
        updated: habit.created,
    };
    client.save_numbered("documents", document).await
}

/// The documents of a habit, without their texts.
///
/// # Errors
/// When the store fails.
pub async fn documents(client: &Client, habit: &Habit) -> engine::Result<Vec<Document>> {
    client.records(RecordFilter::of(Parent::record::<Habit>(&habit.id))).await
}

/// Sets a habit, unless the tree has one with the same words.
pub struct SetHabit;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "entourage::serde")]
#[schemars(crate = "entourage::schemars")]
struct Arguments {
    /// What is wanted.
    text: String,
}

#[async_trait]
impl Tool for SetHabit {
    fn name(&self) -> &str {
        "set_habit"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>("set_habit", "Set a habit."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, context: &Context, arguments: Value) -> tools::Result<Outcome> {
        let Arguments { text } = parse("set_habit", arguments)?;
        let query = RecordQuery { words: Some(text.clone()), ..RecordQuery::of::<Habit>(RecordScope::Tree) };
        if !find::<Habit>(&*context.reader, query).await?.is_empty() {
            return Ok(Outcome::text("it is a habit already"));
        }
        let habit = Habit {
            id: context.call.to_string(),
            owner: context.owner.clone(),
            root: context.root,
            agent: context.agent,
            text,
            reached: false,
            created: context.now,
        };
        Ok(Outcome::Done(Done { text: "set".into(), ..Done::default() }.with(&habit)?))
    }
}

/// The habits of an owner that are not reached, by words if there are any.
///
/// # Errors
/// When the store fails.
pub async fn open_habits(client: &Client, words: Option<&str>) -> engine::Result<Vec<Habit>> {
    let words = words.map(str::to_owned);
    client.records(RecordFilter { status: Some("open"), words, ..RecordFilter::default() }).await
}
