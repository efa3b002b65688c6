//! What a tool is, and the box of those that a house has.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_types::{Effect, Kind, ToolSpec};
use serde_json::Value;

use crate::{Context, Outcome, Result};

/// An ability that a model may use.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Its name, by which kinds list it and models call it.
    fn name(&self) -> &str;

    /// Description and argument schema as this caller's model sees them; none when the tool makes
    /// no sense for the caller. The same caller always gets the same offer.
    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec>;

    /// What a call does to the world. Unsafe unless said otherwise; a kind may know better, and
    /// [`Context::effect`] says what holds.
    fn effect(&self) -> Effect {
        Effect::Unsafe
    }

    /// Does it. `arguments` are valid against the schema. An error goes back to the model as the
    /// call's output, so its text says what to do differently.
    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome>;
}

/// Who is offered a tool.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The caller's kind.
    pub kind: &'a Kind,
    /// The kinds it may write to, with their descriptions.
    pub peers: &'a [Arc<Kind>],
    /// Whether it talks to a person rather than to a parent.
    pub is_root: bool,
    /// Whether there are closed sessions of it.
    pub has_sessions: bool,
    /// Whether something in its session was too long to be shown whole.
    pub has_cuts: bool,
}

/// The tools of a house, by name.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Toolbox {
    /// An empty box.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The box with one tool more; a tool of the same name is replaced.
    #[must_use]
    pub fn with(mut self, tool: impl Tool) -> Self {
        self.add(Arc::new(tool));
        self
    }

    /// Adds a tool; a tool of the same name is replaced.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        self.tools.insert(tool.name().to_owned(), tool);
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// All tools, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}
