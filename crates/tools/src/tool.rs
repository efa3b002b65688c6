//! The tool interface, and the toolbox of an engine.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_types::{Effect, Kind, Owner, ResultSource, ToolSpec, WorksFor};
use serde_json::Value;

use crate::{Address, Context, Error, FairPlaces, Outcome, Result};

/// An ability that a model may use.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Its name, by which kinds list it and models call it.
    fn name(&self) -> &str;

    /// Returns the description and argument schema for this caller's model; none if the tool makes no sense
    /// for the caller. The same caller always gets the same offer.
    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec>;

    /// The external effect of a call. Unsafe by default; a kind may override it, and [`Context::effect`] is
    /// the effect that applies.
    fn effect(&self) -> Effect {
        Effect::Unsafe
    }

    /// Whether a call of it is the answer of its run, and ends the run.
    fn answers(&self) -> bool {
        false
    }

    /// The tools that come with a tool that runs code: the code may call them, whether the kind lists them or not,
    /// beside those that the kind lists. None for any other tool.
    fn comes_with(&self) -> &[&str] {
        &[]
    }

    /// The places that its calls have, if not all of them can run at once. The engine waits for one before the time limit
    /// of a call begins; owners take turns.
    fn places(&self) -> Option<&FairPlaces> {
        None
    }

    /// The source of its results. Private by default.
    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    /// Returns the destination of a call with these arguments, if they name it: the host receives everything
    /// in the address. An engine that has read private data first asks a person for approval, unless a person
    /// gave the address or its agents have read it somewhere.
    fn address(&self, arguments: &Value) -> Option<Address> {
        let _ = arguments;
        None
    }

    /// Whether this owner's agents may use it.
    fn serves(&self, owner: &Owner) -> bool {
        let _ = owner;
        true
    }

    /// Returns the arguments under the schema's names, if a model used another name that the tool
    /// understands; none otherwise. They are validated under these names.
    fn renamed(&self, _arguments: &Value) -> Option<Value> {
        None
    }

    /// Executes a call. `arguments` are valid against the schema. The model gets an error as the call's
    /// output, so its text says what to do differently.
    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome>;
}

/// The agent that is offered a tool.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The caller's kind.
    pub kind: &'a Kind,
    /// The kinds it may write to, with their descriptions.
    pub peers: &'a [Arc<Kind>],
    /// Its counterpart.
    pub works_for: WorksFor,
    /// Whether it has closed sessions.
    pub has_sessions: bool,
    /// Whether the caller is code, and not a model: the code of a tool that [comes with](Tool::comes_with) this one.
    pub by_code: bool,
    /// Whether something in its session is, or may become, too long to show whole.
    pub may_have_cuts: bool,
}

/// The longest tool name that models and providers accept, in characters.
pub(crate) const NAME_CHARS: usize = 64;

/// Whether a tool may have this name. The part before a `/` names its owner.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.split('/').all(|part| (1..=NAME_CHARS).contains(&part.len()) && part.chars().all(plain))
}

/// The tools of an engine, by name.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Toolbox {
    /// Creates an empty toolbox.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the toolbox with one more tool.
    ///
    /// # Panics
    /// If [`add`](Self::add) refuses the tool.
    #[must_use]
    pub fn with(mut self, tool: impl Tool) -> Self {
        match self.add(Arc::new(tool)) {
            Ok(()) => self,
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// [`Error::NotConfigured`] when models and providers do not accept its name, or another tool has it.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<()> {
        let name = tool.name().to_owned();
        if !is_name(&name) {
            return Err(Error::NotConfigured(format!(
                "`{}` cannot name a tool: use 1 to {NAME_CHARS} letters, digits, `_` and `-`",
                name.escape_debug()
            )));
        }
        if self.tools.contains_key(&name) {
            return Err(Error::NotConfigured(format!(
                "there are two tools of the name `{name}`; rename one"
            )));
        }
        self.tools.insert(name, tool);
        Ok(())
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns all tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// Returns all names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wait;

    struct Named(&'static str);

    #[async_trait]
    impl Tool for Named {
        fn name(&self) -> &str {
            self.0
        }

        fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
            None
        }

        async fn call(&self, _: &Context, _: Value) -> Result<Outcome> {
            Ok(Outcome::text(""))
        }
    }

    #[test]
    fn a_tool_name_must_be_unique_and_valid_for_every_provider() {
        let mut tools = Toolbox::new().with(Wait);
        let mut refused = |name| tools.add(Arc::new(Named(name))).map_err(|error| error.to_string());
        let long = "x".repeat(65).leak();
        for name in ["", " ", "a b", "a.b", "größe", "a/", "/a", "a\n", long] {
            assert!(refused(name).is_err_and(|why| why.contains("cannot name a tool")), "{name:?}");
        }
        assert!(refused("wait").is_err_and(|why| why.contains("two tools of the name `wait`")));
        for name in ["a", "bank__pay-2", "agent/wait"] {
            assert_eq!(refused(name), Ok(()), "{name}");
        }
    }
}
