//! `entourage show`: shows an agent's whole transcript.

use std::io::{self, IsTerminal};

use clap::Args;
use entourage_api::{Item, ItemBody, ToolCall};
use entourage_types::AgentId;

use super::{
    backend::{self, Backend, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out, screen,
    text::{Text, margined, text},
};

const AFTER_HELP: &str = "\
Examples:
  entourage show                  the newest agent
  entourage show agt_0199…        this one; `entourage tree` shows its sub-agents
  entourage show @last | less
  entourage show @last --json     one item a line

`entourage tail` shows the events of a whole tree, in short; `entourage export` writes a document.";

/// Show an agent's transcript in full
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Show {
    /// The agent [default: the newest one]
    agent: Option<IdInput<AgentId>>,
}

impl Show {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let id = self.agent.unwrap_or(IdInput::Last).find(&backend).await?;
        let agent = backend.agent(id).await?;
        let paint = out::stdout();
        if !globals.json {
            let (_, status) = describe::standing(&agent, backend.is_at_work(Some(agent.root)), paint);
            out::result(text![
                paint.bold(&agent.kind),
                " ",
                status,
                " ",
                paint.dim(describe::called(&agent))
            ])?;
        }
        each_item(&backend, id, |item| match globals.json {
            true => out::json(item),
            false => out::result(shown(item)),
        })
        .await?;
        Ok(Exit::Done)
    }
}

/// Passes all items of an agent to `take`, a page at a time: a transcript may be long.
pub(super) async fn each_item(
    backend: &Backend,
    agent: AgentId,
    mut take: impl FnMut(&Item) -> Result<()>,
) -> Result<()> {
    let mut from = 0;
    loop {
        let items = backend.items(agent, from).await?;
        let Some(last) = items.last() else { return Ok(()) };
        from = last.seq + 1;
        items.iter().try_for_each(&mut take)?;
    }
}

/// An item in full, under a line that names its author. What others wrote is behind a margin, in which no text passes
/// for such a line.
fn shown(item: &Item) -> Text {
    let paint = out::stdout();
    let columns = io::stdout().is_terminal().then(screen::columns);
    let full = |text: &str| margined(text, columns);
    let called = |calls: &[ToolCall]| -> Text {
        let call = |call: &ToolCall| {
            let (tool, arguments) =
                (describe::name(&call.tool), describe::arguments_in_lines(&call.arguments));
            text!["\n", paint.cyan("→ "), tool, full(&arguments)]
        };
        calls.iter().map(call).collect()
    };
    let (who, body) = match &item.body {
        ItemBody::Message { from, text, .. } => (describe::name(describe::author(from)), full(text)),
        ItemBody::Turn { text, calls, .. } => ("says".to_owned(), text![full(text), called(calls)]),
        ItemBody::Output { tool, text, error, .. } => {
            let how = if *error { "failed" } else { "returned" };
            (format!("{} {how}", describe::name(tool)), full(text))
        }
        ItemBody::SubCalls { calls, .. } => ("code calls".to_owned(), called(calls)),
        ItemBody::SubOutput { tool, text, error, .. } => {
            let how = if *error { "failed" } else { "returned" };
            (format!("{} {how} to the code", describe::name(tool)), full(text))
        }
        ItemBody::Decision { name, value, why, .. } => (
            format!("decides {}", describe::name(name)),
            full(&describe::decision(value.as_ref(), why.as_deref())),
        ),
        ItemBody::Notice { code, reason, text, .. } => {
            (format!("notice: {}", describe::notice(code, *reason)), full(text))
        }
        ItemBody::Digest { from, text, .. } => {
            (format!("sums up what is older than item {from}"), full(text))
        }
        ItemBody::Context { entries } => ("context".to_owned(), full(&describe::context(entries, "\n"))),
    };
    let head = paint.dim(format!("── {} {} ", item.seq, item.at));
    text!["\n", head, paint.bold(who), body]
}
