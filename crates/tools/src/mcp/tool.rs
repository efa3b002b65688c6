//! Adapts a tool of an MCP server to [`Tool`].

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use entourage_types::{Owner, ToolSpec};
use rmcp::model::ToolAnnotations;
use serde_json::{Value, json};

use super::{result::outcome, schema::RepeatsSecret, secrets::Secrets, server::McpServer};
use crate::{Caller, Context, Effect, Outcome, Result, Tool, parse, tool::NAME_CHARS};

/// A tool of an MCP server.
pub(super) struct McpTool {
    server: Arc<McpServer>,
    /// Its name on the server.
    remote: String,
    spec: ToolSpec,
    effect: Effect,
}

impl McpTool {
    /// A tool as its server lists it, without the secrets that the server repeats in its texts.
    ///
    /// # Errors
    /// [`RepeatsSecret`] if there is one where it cannot be struck out.
    pub(super) fn new(
        server: Arc<McpServer>,
        name: String,
        listed: rmcp::model::Tool,
        secrets: &Secrets,
    ) -> std::result::Result<Self, RepeatsSecret> {
        let hints = listed.annotations.unwrap_or_default();
        let effect = class_of(&hints);
        let description = listed.description.or(listed.title.map(Into::into)).unwrap_or_default();
        let description = secrets.strike(&description);
        let mut parameters = listed.input_schema.as_ref().clone();
        // A server may omit it, but some providers refuse a schema without `properties`.
        parameters.entry("properties").or_insert_with(|| json!({}));
        let mut parameters = Value::Object(parameters);
        secrets.strike_in_schema(&mut parameters)?;
        let spec = ToolSpec::new(name, description, parameters);
        Ok(Self { server, remote: listed.name.into_owned(), spec, effect })
    }

    pub(super) fn spec(&self) -> &ToolSpec {
        &self.spec
    }
}

#[async_trait]
impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(self.spec.clone())
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn serves(&self, owner: &Owner) -> bool {
        self.server.serves(owner)
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let arguments = parse(&self.spec.name, arguments)?;
        let repeatable = context.effect != Effect::Unsafe;
        let result = self.server.call(&self.remote, arguments, context.call, repeatable).await?;
        outcome(result, self.server.secrets())
    }
}

/// Derives the effect from the server's hints, which are trusted: the operator chose the server. Without
/// hints a tool is unsafe. An idempotent tool that is destructive is unsafe too: calling it twice is
/// harmless, unless what it destroys was recreated in between.
fn class_of(hints: &ToolAnnotations) -> Effect {
    match (hints.read_only_hint, hints.idempotent_hint, hints.destructive_hint) {
        (Some(true), _, _) => Effect::Pure,
        (_, Some(true), None | Some(false)) => Effect::Idempotent,
        _ => Effect::Unsafe,
    }
}

/// Gives each tool of a server its name in the engine: `<server>__<tool>`, unique, with characters that every
/// provider accepts.
pub(super) struct Naming {
    prefix: String,
    taken: BTreeSet<String>,
}

impl Naming {
    pub(super) fn new(server: &str) -> Self {
        Self { prefix: format!("{server}__"), taken: BTreeSet::new() }
    }

    pub(super) fn name(&mut self, tool: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        // All of it is ASCII, so any byte is a character boundary.
        let whole: String = self.prefix.chars().chain(tool.chars()).map(plain).collect();
        let cut = |most: usize| &whole[..whole.len().min(most)];
        let mut name = cut(NAME_CHARS).to_owned();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            let end = format!("_{number}");
            name = format!("{}{end}", cut(NAME_CHARS - end.len()));
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_unsafe_without_hints_or_if_destructive() {
        let class = |read_only, idempotent, destructive| {
            let mut hints = ToolAnnotations::default();
            (hints.read_only_hint, hints.idempotent_hint, hints.destructive_hint) =
                (read_only, idempotent, destructive);
            class_of(&hints)
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(class(None, None, None), Effect::Unsafe);
        assert_eq!(class(yes, None, None), Effect::Pure);
        assert_eq!([class(no, yes, None), class(None, yes, no)], [Effect::Idempotent; 2]);
        assert_eq!([class(None, yes, yes), class(no, no, no), class(None, None, no)], [Effect::Unsafe; 3]);
    }

    #[test]
    fn tool_names_are_unique_and_valid_for_every_provider() {
        let mut naming = Naming::new("files");
        assert_eq!(naming.name("read"), "files__read");
        assert_eq!(naming.name("read file.v2"), "files__read_file_v2");
        assert_eq!(naming.name("read/file v2"), "files__read_file_v2_2");
        assert_eq!(naming.name("größe"), "files__gr__e");
        let (long, longer) = (naming.name(&"x".repeat(100)), naming.name(&"x".repeat(101)));
        assert_eq!((long.len(), longer.len()), (64, 64));
        assert!(longer.ends_with("x_2"));
    }
}
