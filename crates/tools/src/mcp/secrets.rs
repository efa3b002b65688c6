//! Removes a server's secrets from its messages: some servers repeat what they refuse.

use std::{collections::BTreeSet, fmt, mem};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use url::Url;

use super::{McpSettings, McpTransport, forms::forms};

/// Shorter words are not secrets, and removing them would hide what went wrong.
const LEAST: usize = 8;
/// Parts of the names of options and variables with secret values.
const SECRET_NAMES: [&str; 9] =
    ["key", "token", "secret", "passw", "pwd", "auth", "credential", "bearer", "cookie"];

/// What a secret is replaced by.
const STRUCK: &str = "[secret]";
/// The keywords of a JSON schema whose words are not the server's own: without them a call could not be checked or made.
const STRUCTURE: [&str; 7] =
    ["type", "required", "$ref", "$dynamicRef", "format", "pattern", "dependentRequired"];
/// The keywords of a JSON schema with schemas by name, which are those of arguments and of other schemas.
const SCHEMAS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// The keywords of a JSON schema with values of any form.
const VALUES: [&str; 5] = ["default", "enum", "const", "examples", "example"];

/// The secrets of one server, in all forms in which it may repeat them.
#[derive(Clone, Default)]
pub(super) enum Secrets {
    /// It has none.
    #[default]
    None,
    /// Finds them in one pass. One may be the beginning of another: the longest is found.
    Some(AhoCorasick),
    /// They are too long to be looked for: every text is struck as a whole.
    TooLong,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    pub(super) fn of(settings: &McpSettings) -> Self {
        let (values, found) = match &settings.transport {
            McpTransport::Command { args, env, .. } => (env, in_arguments(args)),
            McpTransport::Url { url, headers } => (headers, in_address(url)),
        };
        let in_values = values.values().flat_map(|value| in_address(value.expose_secret()));
        let found = found.into_iter().chain(in_values);
        // A secret of an owner may be a part of a value.
        let given = values.values().chain(&settings.given).map(|value| value.expose_secret().to_owned());
        // Whole, and word by word: of `Bearer …` only the second word is secret, and servers repeat it without the
        // first.
        let words = given.chain(found).flat_map(|text| {
            let parts = text.split_whitespace().chain([text.trim()]);
            parts.map(str::to_owned).filter(|word| word.len() >= LEAST).collect::<Vec<_>>()
        });
        let words: BTreeSet<String> = words.flat_map(|word| forms(&word).into_iter().chain([word])).collect();
        if words.is_empty() {
            return Self::None;
        }
        // Secrets may be long, such as keys in PEM: the other kinds are faster, and take more memory.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(words);
        finder.map_or(Self::TooLong, Self::Some)
    }

    /// Removes the secrets from a JSON value of any form.
    pub(super) fn strike_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.strike(text),
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.strike_in(entry)),
            Value::Object(fields) => {
                let struck = |(name, mut field): (String, Value)| {
                    self.strike_in(&mut field);
                    (self.strike(&name), field)
                };
                *fields = mem::take(fields).into_iter().map(struck).collect::<Map<_, _>>();
            }
            Value::Number(number) => {
                let written = number.to_string();
                if written.len() < LEAST {
                    return;
                }
                let struck = self.strike(&written);
                if struck != written {
                    *value = Value::String(struck);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Removes the secrets from a JSON schema, which stays what it is: in the names of arguments and in what is said of
    /// their form no word is a secret, also if it reads like one.
    pub(super) fn strike_in_schema(&self, schema: &mut Value) {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Array(entries) => {
                return entries.iter_mut().for_each(|entry| self.strike_in_schema(entry));
            }
            text => return self.strike_in(text),
        };
        for (keyword, field) in fields {
            match (keyword.as_str(), field) {
                (keyword, _) if STRUCTURE.contains(&keyword) => {}
                (keyword, field) if VALUES.contains(&keyword) => self.strike_in(field),
                (keyword, Value::Object(schemas)) if SCHEMAS.contains(&keyword) => {
                    schemas.values_mut().for_each(|schema| self.strike_in_schema(schema));
                }
                (_, field) => self.strike_in_schema(field),
            }
        }
    }

    /// Returns the text without the secrets.
    pub(super) fn strike(&self, text: &str) -> String {
        match self {
            Self::None => text.to_owned(),
            Self::Some(finder) => {
                let mut struck = String::with_capacity(text.len());
                finder.replace_all_with(text, &mut struck, |_, _, struck| {
                    struck.push_str(STRUCK);
                    true
                });
                struck
            }
            Self::TooLong => STRUCK.to_owned(),
        }
    }
}

/// Returns the secrets in a command's arguments: the value of an option with a secret name, in the next
/// argument or the same one, and the secrets in addresses.
pub(super) fn in_arguments(args: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_named = false;
    for arg in args {
        let is_value = mem::take(&mut is_named) && !arg.starts_with('-');
        found.extend(in_address(arg));
        match arg.split_once(['=', ':']) {
            _ if is_value => found.push(arg.clone()),
            Some((name, value)) if is_secret(name) => found.push(value.to_owned()),
            Some((_, value)) => found.extend(in_address(value)),
            None => is_named = arg.starts_with('-') && is_secret(arg),
        }
    }
    found
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Returns the password and the query values of an address, both encoded and decoded.
pub(super) fn in_address(address: &str) -> Vec<String> {
    let Ok(url) = Url::parse(address) else { return Vec::new() };
    let mut found: Vec<String> = url.query_pairs().map(|(_, value)| value.into_owned()).collect();
    let values = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    found.extend(values.map(|(_, value)| value.to_owned()));
    if let Some(password) = url.password() {
        found.push(password.to_owned());
        found.push(percent_encoding::percent_decode_str(password).decode_utf8_lossy().into_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use secrecy::SecretString;
    use serde_json::json;

    use super::*;

    fn of_command(args: &[&str], env: &[(&str, &str)]) -> Secrets {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let env = env.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        Secrets::of(&McpSettings::new(
            "a",
            McpTransport::Command { command: "c".to_owned(), args, env, cwd: None },
        ))
    }

    fn of_address(url: &str) -> Secrets {
        Secrets::of(&McpSettings::new(
            "a",
            McpTransport::Url { url: url.to_owned(), headers: BTreeMap::new() },
        ))
    }

    #[test]
    fn a_secret_is_redacted_with_and_without_its_bearer_prefix() {
        let headers = [("Authorization".to_owned(), SecretString::from("Bearer canary-1234"))];
        let transport = McpTransport::Url { url: String::new(), headers: headers.into() };
        let text = Secrets::of(&McpSettings::new("a", transport))
            .strike("Bearer canary-1234 was refused: canary-1234 is no Bearer");
        assert_eq!(text, "[secret] was refused: [secret] is no Bearer");
    }

    #[test]
    fn a_secret_of_short_words_is_redacted_as_a_whole() {
        assert_eq!(
            of_command(&[], &[("A", "one two three")]).strike("`one two three`, one two"),
            "`[secret]`, one two"
        );
    }

    #[test]
    fn a_secret_that_is_a_part_of_a_value_is_redacted() {
        let env = [("DB".to_owned(), "postgres://me:${secret:pw}@host/db ${secret:pw}!".into())];
        let transport =
            McpTransport::Command { command: "c".to_owned(), args: vec![], env: env.into(), cwd: None };
        let given = [("pw".parse().unwrap(), "canary-1234".into())];
        let settings = McpSettings::new("a", transport).with_secrets(&given.into());
        assert_eq!(
            Secrets::of(&settings).strike("password `canary-1234` rejected"),
            "password `[secret]` rejected"
        );
        let of_operator = of_command(&[], &[("DB", "postgres://me:canary-1234@host/db")]);
        assert_eq!(of_operator.strike("`canary-1234`"), "`[secret]`");
    }

    #[test]
    fn two_secrets_with_a_common_prefix_are_both_redacted() {
        let secrets = of_command(&[], &[("A", "canary-1234"), ("B", "canary-1234-and-more")]);
        assert_eq!(secrets.strike("canary-1234-and-more canary-1234"), "[secret] [secret]");
    }

    #[test]
    fn a_secret_is_redacted_in_field_names_and_numbers() {
        let mut value = json!({ "canary-1234": [{ "a canary-1234": 1 }], "n": 9_876_543_210_u64 });
        of_command(&[], &[("A", "canary-1234"), ("B", "9876543210")]).strike_in(&mut value);
        assert_eq!(value, json!({ "[secret]": [{ "a [secret]": 1 }], "n": "[secret]" }));
    }

    #[test]
    fn what_says_the_form_of_arguments_is_no_secret_also_if_it_reads_like_one() {
        let env = [("A", "password"), ("B", "properties"), ("C", "description"), ("D", "required")];
        let secrets = of_command(&[], &[&env[..], &[("E", "canary-1234")]].concat());
        let mut schema = json!({
            "type": "object", "required": ["password", "description"], "title": "canary-1234",
            "properties": {
                "password": { "type": "string", "format": "password", "description": "not canary-1234" },
                "description": { "type": "string", "default": "canary-1234", "enum": ["canary-1234", "b"] },
                "where": { "anyOf": [{ "$ref": "#/$defs/password" }, { "examples": [{ "canary-1234": 1 }] }] },
            },
            "$defs": { "password": { "type": ["string", "null"], "x-note": "canary-1234" } },
        });
        secrets.strike_in_schema(&mut schema);
        let struck = json!({
            "type": "object", "required": ["password", "description"], "title": "[secret]",
            "properties": {
                "password": { "type": "string", "format": "password", "description": "not [secret]" },
                "description": { "type": "string", "default": "[secret]", "enum": ["[secret]", "b"] },
                "where": { "anyOf": [{ "$ref": "#/$defs/password" }, { "examples": [{ "[secret]": 1 }] }] },
            },
            "$defs": { "password": { "type": ["string", "null"], "x-note": "[secret]" } },
        });
        assert_eq!(schema, struck);
    }

    #[test]
    fn a_secret_is_redacted_however_a_server_writes_it() {
        let secret = "pass\"word/w+rd=1 \"";
        let secrets = of_command(&[], &[("A", secret)]);
        let percent = percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC);
        let base64 = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, format!("me:{secret}"));
        for told in [json!({ "a": secret }).to_string(), format!("?k={percent}"), format!("Basic {base64}")] {
            let struck = secrets.strike(&told);
            assert!(struck.contains("[secret]"), "{told}: {struck}");
            for part in ["word", "w+rd", "w%2Brd", &base64[8..16]] {
                assert!(!struck.contains(part), "{part}: {struck}");
            }
        }
    }

    #[test]
    fn a_number_that_is_no_secret_stays_a_number() {
        let secrets = of_command(&[], &[("A", "12345678")]);
        let mut value = json!([1_234_567, 12_345_678, 1.5]);
        secrets.strike_in(&mut value);
        assert_eq!(value, json!([1_234_567, "[secret]", 1.5]));
    }

    #[test]
    fn secrets_in_command_arguments_and_urls_are_redacted() {
        for args in [
            &["--token", "canary-1234"][..],
            &["--api-key=canary-1234"],
            &["-e", "GITHUB_TOKEN=canary-1234"],
            &["--header", "Authorization: Bearer canary-1234"],
            &["postgres://me:canary-1234@host/db"],
            &["--url=http://host/?k=canary-1234"],
        ] {
            assert_eq!(of_command(args, &[]).strike("canary-1234!"), "[secret]!", "{args:?}");
        }
        for url in ["https://host/mcp?k=canary-1234", "https://me:canary-1234@host/"] {
            assert_eq!(of_address(url).strike("canary-1234!"), "[secret]!", "{url}");
        }
        let encoded = of_address("https://host/?k=canary%2F1234");
        assert_eq!(encoded.strike("canary%2F1234 canary/1234"), "[secret] [secret]");
        let plain = of_command(&["-y", "@scope/server", "/srv/me/documents", "--dir", "/srv/files"], &[]);
        assert_eq!(
            plain.strike("/srv/me/documents @scope/server /srv/files"),
            "/srv/me/documents @scope/server /srv/files"
        );
    }
}
