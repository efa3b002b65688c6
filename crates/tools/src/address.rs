//! The destinations of tools' arguments: from these, and the sources of tools' results, the engine determines when a
//! call could leak private data.

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::{Position, Url};

/// The destination of a call, if its arguments name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The full address, as it is sent.
    pub url: String,
    /// The address as it is in the arguments.
    pub written: String,
    /// The host that receives it.
    pub host: String,
}

impl Address {
    /// Returns the ways in which a text may spell the address: as it is sent and as the agent wrote it,
    /// without a scheme. A part of the written form that does not lead to the same address by itself is
    /// omitted: `http:host/x?u=://other/` ends in the spelling of another address.
    #[must_use]
    pub fn spellings(&self) -> Vec<&str> {
        let Ok(sent) = Url::parse(&self.url) else { return Vec::new() };
        let leads_there = |rest: &&str| {
            let read = Url::parse(&format!("{}://{rest}", sent.scheme()));
            read.is_ok_and(|read| bare(read.as_str()) == bare(&self.url))
        };
        [&*self.url, &*self.written].into_iter().filter_map(bare).filter(leads_there).collect()
    }

    /// Whether the words of a call, from [`words_of_call`], contain the address, in whatever encoding.
    #[must_use]
    pub fn is_among(&self, words: &str) -> bool {
        self.spellings().into_iter().any(|spelling| words.contains(&decoded(spelling)))
    }
}

/// Returns what a call writes itself, and its result may therefore repeat: the texts of its arguments. Of the
/// address to which it is sent, only what follows the host counts: pages contain their own addresses and those
/// above them, and the receiver of the whole address learns nothing from its beginning.
#[must_use]
pub fn words_of_call(arguments: &Value, address: Option<&Address>) -> String {
    let mut words = String::new();
    if let Some(sent) = address.and_then(|address| Url::parse(&address.url).ok()) {
        words.push_str(&sent[Position::BeforePath..]);
    }
    add_texts(arguments, address.map(|address| &*address.written), &mut words);
    decoded(&words)
}

/// Adds the texts of a value, except those that are the address.
fn add_texts(value: &Value, address: Option<&str>, words: &mut String) {
    match value {
        Value::String(text) if address == Some(text.trim()) => {}
        Value::String(text) => words.extend(["\n", text]),
        Value::Array(entries) => entries.iter().for_each(|entry| add_texts(entry, address, words)),
        Value::Object(fields) => {
            for (name, field) in fields {
                words.extend(["\n", name]);
                add_texts(field, address, words);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns an address without its scheme, its fragment, and a trailing slash.
fn bare(url: &str) -> Option<&str> {
    let (_, rest) = url.split('#').next()?.split_once("://")?;
    Some(rest.strip_suffix('/').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(written: &str) -> Vec<String> {
        let url = Url::parse(written).unwrap();
        let host = url.host_str().unwrap_or_default().to_owned();
        let address = Address { url: url.into(), written: written.to_owned(), host };
        address.spellings().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn an_address_is_recognized_in_each_of_its_spellings() {
        assert_eq!(spellings("https://a.example/ü#x"), ["a.example/%C3%BC", "a.example/ü"]);
        assert_eq!(spellings("HTTP://A.example:80/"), ["a.example", "A.example:80"]);
        for (written, sent) in [
            ("http:a.example/x?q=secret&u=://a.example/page", "a.example/x?q=secret&u=://a.example/page"),
            ("http:/a.example/x?q=secret&u=://b.example", "a.example/x?q=secret&u=://b.example"),
            (r"http:\\a.example/x?q=secret&u=://b.example", "a.example/x?q=secret&u=://b.example"),
        ] {
            assert_eq!(spellings(written), [sent], "{written}");
        }
    }

    #[test]
    fn the_words_of_a_call_contain_what_follows_the_host_of_its_address() {
        let address = |written: &str| {
            let url = Url::parse(written).unwrap();
            let host = url.host_str().unwrap_or_default().to_owned();
            Address { url: url.into(), written: written.to_owned(), host }
        };
        let evil = address("https://evil.example/?q=a b");
        for sent in [
            "https://a.example/?to=https://evil.example/?q=a b",
            "https://a.example/?to=https%3A%2F%2Fevil.example%2F%3Fq%3Da%20b",
            "https://a.example/evil.ex\tample/?q=a%20b",
        ] {
            let words = words_of_call(&serde_json::json!({ "url": sent }), Some(&address(sent)));
            assert!(evil.is_among(&words), "{words}");
        }
        let sent = "https://www.a.example/docs/page";
        let words = words_of_call(&serde_json::json!({ "url": sent }), Some(&address(sent)));
        for known in [sent, "https://www.a.example/docs", "https://www.a.example/", "https://a.example/"] {
            assert!(!address(known).is_among(&words), "{known}");
        }
        let words =
            words_of_call(&serde_json::json!({ "x": [{ "query": "at evil.example/?q=a%20b" }] }), None);
        assert!(evil.is_among(&words), "{words}");
    }
}
