//! `list_documents`: the documents of a project.

use async_trait::async_trait;
use entourage_types::{DocumentHead, Project, ResultSource, ToolSpec, one_line, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{find, offer};
use crate::{Caller, Context, Effect, Outcome, RecordQuery, RecordScope, Result, Tool, parse};

const NAME: &str = tool_names::LIST_DOCUMENTS;
/// So many documents are listed at once.
const MOST: u32 = 200;
/// So many characters of a standing instruction are shown.
const SHOWN: usize = 100;

/// Lists the documents of a project, without their texts.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListDocuments;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The project, by name or id; not needed if there is only one.
    #[serde(default)]
    project: Option<String>,
    /// How many to leave out, to continue a long list.
    #[serde(default)]
    from: Option<u32>,
}

#[async_trait]
impl Tool for ListDocuments {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        offer::<Arguments>(caller, NAME, "List the documents of a project. Start here.")
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { project, from } = parse(NAME, arguments)?;
        let project = find::project(context, project.as_deref()).await?;
        let skip = from.unwrap_or_default();
        let of = RecordQuery::of::<DocumentHead>(RecordScope::Below(Project::as_parent(project.id)));
        let query = RecordQuery { skip, limit: MOST + 1, ..of };
        let mut heads: Vec<DocumentHead> = crate::find(&*context.reader, query).await?;
        let is_cut = heads.len() > MOST as usize;
        heads.truncate(MOST as usize);
        let name = &project.name;
        if heads.is_empty() {
            let more = if skip > 0 { "no more documents" } else { "no documents" };
            return Ok(Outcome::text(format!("The project `{name}` has {more}.")));
        }
        let mut text = format!("Documents of the project `{name}`:");
        heads.iter().for_each(|head| text.push_str(&line(head)));
        if is_cut {
            text.push_str(&format!("\n[there are more: go on with `from` {}]", skip + MOST));
        }
        Ok(Outcome::text(text))
    }
}

fn line(head: &DocumentHead) -> String {
    let instruction = one_line(&head.standing_instruction);
    let shown: String = instruction.chars().take(SHOWN).collect();
    let instruction = match (shown.is_empty(), shown.len() < instruction.len()) {
        (true, _) => String::new(),
        (_, true) => format!(". Standing instruction: {shown}…"),
        (_, false) => format!(". Standing instruction: {shown}"),
    };
    format!("\n- `{}`, version {}{instruction}", head.name, head.version)
}
