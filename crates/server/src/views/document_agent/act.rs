//! What a message about documents came to.

use entourage_engine::{ActResult, Client};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{DocumentView, MessageView};

/// What a message about documents came to (S5-R110).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedAct)]
pub(crate) struct ActView {
    /// The document that was changed or created, as the act left it; null if none was.
    document: Option<DocumentView>,
    /// The answer; its `chat_id` leads to the next message.
    chat_message: MessageView,
    /// What the model decided, whole; `{"error": …}` if no model gave an answer that could be used.
    agent_decision: Value,
    /// Whether the web was searched, and gave results.
    web_search_performed: bool,
}

impl ActView {
    /// What it came to, in the chat with this number.
    pub(crate) async fn of(client: &Client, chat: u64, result: ActResult) -> entourage_engine::Result<Self> {
        let ActResult { answer, document } = result;
        let document = match document {
            Some(document) => {
                let project = client.project(document.head.project).await?;
                Some(DocumentView::of(project.number, document))
            }
            None => None,
        };
        Ok(Self {
            document,
            agent_decision: answer.act.as_ref().map_or(Value::Null, |act| act.decision.clone()),
            web_search_performed: answer.act.as_ref().is_some_and(|act| act.web_search_performed),
            chat_message: MessageView::of(chat, answer),
        })
    }
}
