//! What a server's tool returned, as an outcome.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::{Done, Error, Outcome, Result};

/// The text for the model, and the structured content beside it. What is not text is named.
pub(super) fn outcome(result: CallToolResult) -> Result<Outcome> {
    let mut text = result.content.iter().map(written).collect::<Vec<_>>().join("\n\n");
    if let (true, Some(structured)) = (text.is_empty(), &result.structured_content) {
        text = structured.to_string();
    }
    if result.is_error == Some(true) {
        let why = if text.is_empty() { "the tool failed and does not say why".to_owned() } else { text };
        return Err(Error::Failed(why));
    }
    if text.is_empty() {
        text.push_str("[done; no output]");
    }
    Ok(Outcome::Done(Done { text, details: result.structured_content, ..Done::default() }))
}

fn written(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[an image, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[a sound, {}]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, .. } => {
                format!("[a resource, {}: {uri}]", mime_type.as_deref().unwrap_or("of unknown type"))
            }
            _ => "[a resource of unknown form]".to_owned(),
        },
        _ => "[content of an unknown type]".to_owned(),
    }
}
