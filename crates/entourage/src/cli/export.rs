//! `entourage export`: writes an agent's transcript as a document.

use clap::Args;
use entourage_api::{Agent, Item, ItemBody, ToolCall};
use entourage_types::AgentId;

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::{Exit, Failure},
    globals::Globals,
    id_input::IdInput,
    out,
    show::each_item,
};

const AFTER_HELP: &str = "\
Examples:
  entourage export @last --markdown > trip.md
  entourage export agt_0199… > trip.md";

/// Write an agent's transcript as a document
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Export {
    /// The agent
    agent: IdInput<AgentId>,
    /// Write Markdown, which is the default
    #[arg(long)]
    markdown: bool,
}

impl Export {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        if self.markdown && globals.json {
            return Err(Failure::usage("give either --markdown or --json"));
        }
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let id = self.agent.find(&backend).await?;
        let agent = backend.agent(id).await?;
        if !globals.json {
            out::result(head(&agent, backend.is_at_work(Some(agent.root))))?;
        }
        each_item(&backend, id, |item| match globals.json {
            true => out::json(item),
            false => out::result(section(item, &agent.kind)),
        })
        .await?;
        Ok(Exit::Done)
    }
}

fn head(agent: &Agent, is_at_work: bool) -> String {
    let (Agent { title, kind, id, created, .. }, status) = (agent, describe::stands(agent, is_at_work));
    let title = describe::cut(title, usize::MAX);
    format!("# {title}\n\n{kind}, {status}, begun {created}, `{id}`\n")
}

fn called(calls: &[ToolCall]) -> String {
    let call = |call: &ToolCall| {
        let arguments = fenced(&describe::arguments_in_lines(&call.arguments));
        format!("\nCalls `{}`:\n\n{arguments}\n", describe::name(&call.tool))
    };
    calls.iter().map(call).collect()
}

/// An item with its heading. Prose is quoted, and what is none is in a fence that its text cannot end: no text passes for
/// a heading.
fn section(item: &Item, kind: &str) -> String {
    match &item.body {
        ItemBody::Message { from, text, .. } => {
            format!("## {}\n\n{}\n", describe::name(describe::author(from)), quoted(text))
        }
        ItemBody::Turn { text, calls, .. } => {
            let said = if text.is_empty() { String::new() } else { format!("\n{}\n", quoted(text)) };
            format!("## {kind}\n{said}{}", called(calls))
        }
        ItemBody::Output { tool, text, error, .. } => {
            let how = if *error { "failed" } else { "returned" };
            format!("### `{}` {how}\n\n{}\n", describe::name(tool), fenced(text))
        }
        ItemBody::SubCalls { calls, .. } => format!("### code\n{}", called(calls)),
        ItemBody::SubOutput { tool, text, error, .. } => {
            let how = if *error { "failed" } else { "returned" };
            format!("### `{}` {how} to the code\n\n{}\n", describe::name(tool), fenced(text))
        }
        ItemBody::Decision { name, value, why, .. } => {
            format!(
                "### decides `{}`\n\n{}\n",
                describe::name(name),
                fenced(&describe::decision(value.as_ref(), why.as_deref()))
            )
        }
        ItemBody::Notice { code, reason, text, .. } => {
            format!("### notice: {}\n\n{}\n", describe::notice(code, *reason), quoted(text))
        }
        ItemBody::Digest { text, .. } => format!("### sums up what is older\n\n{}\n", quoted(text)),
        ItemBody::Context { entries } => {
            format!("### context\n\n{}\n", fenced(&describe::context(entries, "\n")))
        }
    }
}

/// A text as a quotation.
fn quoted(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { ">".to_owned() } else { format!("> {line}") };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A text between fences that are longer than any in it.
fn fenced(text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    /// A text of fences cannot end the fence around it.
    #[test]
    fn a_markdown_fence_is_longer_than_any_fence_inside_it() {
        assert_eq!(super::fenced("a"), "```\na\n```");
        assert_eq!(super::fenced("````\nb\n````"), "`````\n````\nb\n````\n`````");
    }
}
