//! What a tool is, and the box of those that a engine has.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_types::{Effect, Kind, Owner, ToolSpec};
use serde_json::Value;

use crate::{Address, Context, Error, Outcome, Result, Source};

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

    /// Whether a call of it is the answer of its run, which ends it.
    fn answers(&self) -> bool {
        false
    }

    /// Where what its calls return comes from. Private unless said otherwise.
    fn source(&self) -> Source {
        Source::Private
    }

    /// Where a call with these arguments goes, when they name the place: what stands in an address
    /// is told to its host. A engine that has read private data asks a person first, unless the
    /// address was given by a person or is one that its agents have read.
    fn address(&self, arguments: &Value) -> Option<Address> {
        let _ = arguments;
        None
    }

    /// Whether this owner's agents may use it.
    fn serves(&self, owner: &Owner) -> bool {
        let _ = owner;
        true
    }

    /// The arguments under the schema's names, where a model used another name that the tool
    /// understands; none where it did not. They are checked under these names.
    fn renamed(&self, _arguments: &Value) -> Option<Value> {
        None
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

/// How many characters of a tool's name models and providers take.
pub(crate) const NAME_CHARS: usize = 64;

/// Whether a tool may have this name. Before a `/` stands whose own it is.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.split('/').all(|part| (1..=NAME_CHARS).contains(&part.len()) && part.chars().all(plain))
}

/// The tools of a engine, by name.
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

    /// The box with one tool more.
    ///
    /// # Panics
    /// Where [`add`](Self::add) refuses it.
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
    /// [`Error::NotConfigured`] when its name is none that models and providers take, or is taken.
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
    fn a_name_is_taken_once_and_only_if_every_provider_takes_it() {
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
