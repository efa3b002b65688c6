//! What a server is given in confidence, struck out of what it says: some repeat what they refuse.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::McpTransport;

/// Shorter words are no secrets, and striking them out would hide what went wrong.
const LEAST: usize = 8;

/// The secrets of one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Vec<SecretString>);

impl Secrets {
    pub(super) fn of(transport: &McpTransport) -> Self {
        let given = match transport {
            McpTransport::Command { env, .. } => env,
            McpTransport::Url { headers, .. } => headers,
        };
        // Word by word: of `Bearer …` only the second is secret, and is repeated without the first.
        let words = given.values().flat_map(|value| value.expose_secret().split_whitespace());
        Self(words.filter(|word| word.len() >= LEAST).map(SecretString::from).collect())
    }

    /// A value without them, whatever its form.
    pub(super) fn strike_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.strike(text),
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.strike_in(entry)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.strike_in(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The text without them.
    pub(super) fn strike(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "[secret]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_struck_out_with_and_without_what_stands_before_it() {
        let headers = [("Authorization".to_owned(), SecretString::from("Bearer canary-1234"))];
        let transport = McpTransport::Url { url: String::new(), headers: headers.into() };
        let text = Secrets::of(&transport).strike("Bearer canary-1234 was refused: canary-1234 is no Bearer");
        assert_eq!(text, "Bearer [secret] was refused: [secret] is no Bearer");
    }
}
