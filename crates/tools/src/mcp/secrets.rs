//! Removes a server's secrets from its messages: some servers repeat what they refuse.

use std::{collections::BTreeSet, fmt, mem, ops::Range};

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

/// The most bytes of words that are looked for: what finds them takes time and memory with each byte. One secret of the
/// greatest length counts up to three times: as a whole, by its words, and by their parts.
const MOST: usize = 64 << 10;

/// What a secret is replaced by.
const STRUCK: &str = "[secret]";
/// The secrets of one server, in all forms in which it may repeat them.
#[derive(Clone, Default)]
pub(super) enum Secrets {
    /// It has none.
    #[default]
    None,
    /// Finds them in one pass, also where they overlap.
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
        let words: BTreeSet<String> = given.chain(found).flat_map(|text| words_of(&text)).collect();
        if words.is_empty() {
            return Self::None;
        }
        if words.iter().map(String::len).sum::<usize>() > MOST {
            return Self::TooLong;
        }
        let words: BTreeSet<String> =
            words.into_iter().flat_map(|word| forms(&word).into_iter().chain([word])).collect();
        // Secrets may be long, such as keys in PEM: the other kinds are faster, and take more memory.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(words);
        finder.map_or(Self::TooLong, Self::Some)
    }

    /// Removes the secrets from a JSON value of any form.
    pub(super) fn strike_in(&self, value: &mut Value) {
        match value {
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.strike_in(entry)),
            Value::Object(fields) => self.strike_in_fields(fields, Self::strike_in),
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
            Value::String(text) => *text = self.strike(text),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Removes the secrets from the names of fields, and has this remove them from their values.
    pub(super) fn strike_in_fields(&self, fields: &mut Map<String, Value>, strike: fn(&Self, &mut Value)) {
        let struck = |(name, mut field): (String, Value)| {
            strike(self, &mut field);
            (self.strike(&name), field)
        };
        *fields = mem::take(fields).into_iter().map(struck).collect();
    }

    /// Returns the text without the secrets.
    pub(super) fn strike(&self, text: &str) -> String {
        let finder = match self {
            Self::None => return text.to_owned(),
            Self::Some(finder) => finder,
            Self::TooLong => return STRUCK.to_owned(),
        };
        let mut spans: Vec<Range<usize>> = Vec::new();
        // They come in the order in which they end. What overlaps is one span: struck one by one, a part of one would stay.
        for found in finder.find_overlapping_iter(text) {
            let mut span = found.range();
            while let Some(before) = spans.pop_if(|before| before.end > span.start) {
                span.start = span.start.min(before.start);
            }
            spans.push(span);
        }
        let (mut struck, mut from) = (String::with_capacity(text.len()), 0);
        for span in spans {
            struck.push_str(&text[from..span.start]);
            struck.push_str(STRUCK);
            from = span.end;
        }
        struck.push_str(&text[from..]);
        struck
    }

    /// Whether no text of the server can be shown, since its secrets are too long to be looked for.
    pub(super) fn are_too_long(&self) -> bool {
        matches!(self, Self::TooLong)
    }

    /// Whether a text has a secret that can be told from a name: a word such as `password` may be both.
    pub(super) fn is_repeated_by_name(&self, name: &str) -> bool {
        let is_word = |text: &str| text.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
        match self {
            Self::None => false,
            Self::Some(finder) => {
                finder.find_overlapping_iter(name).any(|found| !is_word(&name[found.range()]))
            }
            Self::TooLong => true,
        }
    }
}

/// A value as a whole, and word by word: of `Bearer …` only the second word is secret, and servers repeat it without the
/// first, as they do with the value in `session=…; theme=dark`.
fn words_of(text: &str) -> BTreeSet<String> {
    let words = text.split_whitespace();
    let parts = text.split(|c: char| c.is_whitespace() || matches!(c, '=' | ';' | ',' | '&'));
    let all = words.chain(parts).chain([text.trim()]);
    all.filter(|word| word.len() >= LEAST).map(str::to_owned).collect()
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
pub(super) mod tests {
    use std::collections::BTreeMap;

    use secrecy::SecretString;
    use serde_json::json;

    use super::*;

    pub(in crate::mcp) fn of_command(args: &[&str], env: &[(&str, &str)]) -> Secrets {
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
    fn secrets_that_overlap_are_redacted_together() {
        let secrets = of_command(&[], &[("A", "xabcdefgh"), ("B", "abcdefghLONGTAIL"), ("C", "defghLON")]);
        assert_eq!(secrets.strike("a xabcdefghLONGTAIL b"), "a [secret] b");
        assert_eq!(secrets.strike("xabcdefghxabcdefgh"), "[secret][secret]");
        assert_eq!(secrets.strike("ü abcdefghLONGTAIL xabcdefgh"), "ü [secret] [secret]");
    }

    #[test]
    fn a_secret_is_redacted_in_field_names_and_numbers() {
        let mut value = json!({ "canary-1234": [{ "a canary-1234": 1 }], "n": 9_876_543_210_u64 });
        of_command(&[], &[("A", "canary-1234"), ("B", "9876543210")]).strike_in(&mut value);
        assert_eq!(value, json!({ "[secret]": [{ "a [secret]": 1 }], "n": "[secret]" }));
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
