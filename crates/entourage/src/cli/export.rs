//! `entourage export`: writes an agent's transcript as a document.

use clap::Args;
use entourage_types::{Agent, AgentId, Item, ItemBody};

use super::{
    backend::{self, Purpose, Result},
    failure::{Exit, Failure},
    globals::Globals,
    out,
    show::each_item,
    which::Which,
    words,
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
    agent: Which<AgentId>,
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
    let (Agent { title, kind, id, created, .. }, status) = (agent, words::stands(agent, is_at_work));
    let title = words::cut(title, usize::MAX);
    format!("# {title}\n\n{kind}, {status}, begun {created}, `{id}`\n")
}

/// An item with its heading. What is not prose is in a fence that its text cannot end.
fn section(item: &Item, kind: &str) -> String {
    match &item.body {
        ItemBody::Message(message) => format!("## {}\n\n{}\n", words::author(&message.from), message.text),
        ItemBody::Turn(turn) => {
            let mut said = format!("## {kind}\n");
            if !turn.text.is_empty() {
                said.push_str(&format!("\n{}\n", turn.text));
            }
            for call in &turn.calls {
                said.push_str(&format!(
                    "\nCalls `{}`:\n\n{}\n",
                    call.tool,
                    fenced(&words::arguments(&call.arguments))
                ));
            }
            said
        }
        ItemBody::Output(output) => {
            let how = if output.error { "failed" } else { "returned" };
            format!("### `{}` {how}\n\n{}\n", output.tool, fenced(&output.text))
        }
        ItemBody::Decision(decision) => {
            format!("### decides `{}`\n\n{}\n", decision.name, fenced(&words::arguments(&decision.value)))
        }
        ItemBody::Notice(notice) => format!("> {}\n", notice.text.replace('\n', "\n> ")),
        ItemBody::Digest(digest) => format!("### sums up what is older\n\n{}\n", digest.text),
    }
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
