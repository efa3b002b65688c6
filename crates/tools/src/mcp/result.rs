//! Converts the result of a server's tool into an outcome.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::secrets::Secrets;
use crate::{Done, Error, Outcome, Result};

/// Longer structured content, in bytes, is omitted if there is text: it is only for display.
const MOST_STRUCTURED: usize = 1 << 20;

/// Returns the text for the model, and the structured content. Content other than text is named, and the
/// server's secrets are removed.
pub(super) fn outcome(mut result: CallToolResult, secrets: &Secrets) -> Result<Outcome> {
    let text = result.content.iter().map(written).collect::<Vec<_>>().join("\n\n");
    let mut text = secrets.strike(&text);
    if let Some(structured) = &mut result.structured_content {
        secrets.strike_in(structured);
    }
    let structured = result.structured_content.as_ref().map(ToString::to_string).unwrap_or_default();
    let is_left_out = structured.len() > MOST_STRUCTURED;
    if is_left_out {
        result.structured_content = None;
    }
    match text.is_empty() {
        true => text = structured,
        false if is_left_out => {
            text.push_str(&format!("\n[structured content of {} bytes was left out]", structured.len()));
        }
        false => {}
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::{McpSettings, McpTransport};

    #[test]
    fn a_secret_of_the_server_is_redacted_in_its_results() {
        let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer canary-1234".into())]);
        let secrets = Secrets::of(&McpSettings::new("a", McpTransport::Url { url: String::new(), headers }));
        let outcome = |result| outcome(serde_json::from_value(result).unwrap(), &secrets);
        let content = json!([{ "type": "text", "text": "canary-1234 is no good" }]);
        let failed = outcome(json!({ "content": content, "isError": true })).unwrap_err();
        assert_eq!(failed.to_string(), "[secret] is no good");
        let structured = json!({ "list": [{ "token": "canary-1234" }], "n": 1 });
        let done = outcome(json!({ "content": content, "structuredContent": structured })).unwrap();
        let Outcome::Done(Done { text, details, .. }) = done else { panic!("{done:?}") };
        assert_eq!(text, "[secret] is no good");
        assert_eq!(details, Some(json!({ "list": [{ "token": "[secret]" }], "n": 1 })));
    }

    #[test]
    fn oversized_structured_content_is_left_out_beside_a_text() {
        let secrets = Secrets::of(&McpSettings::new(
            "a",
            McpTransport::Url { url: String::new(), headers: BTreeMap::new() },
        ));
        let outcome = |result| match outcome(serde_json::from_value(result).unwrap(), &secrets) {
            Ok(Outcome::Done(done)) => done,
            other => panic!("{other:?}"),
        };
        let structured = json!({ "long": "x".repeat(MOST_STRUCTURED) });
        let bytes = structured.to_string().len();
        let content = json!([{ "type": "text", "text": "Much." }]);
        let beside = outcome(json!({ "content": content, "structuredContent": structured }));
        assert_eq!(beside.text, format!("Much.\n[structured content of {bytes} bytes was left out]"));
        assert_eq!(beside.details, None);
        let alone = outcome(json!({ "content": [], "structuredContent": structured }));
        assert_eq!((alone.text.len(), alone.details), (bytes, None));
    }
}
