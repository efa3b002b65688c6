//! The forms in which a server repeats a text: escaped or encoded, as its answer is written.

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// A shorter part of an encoded text says too little to be recognised.
const LEAST: usize = 8;

/// A text as it stands in JSON, in addresses, in HTML and in Base64, where these differ from the text itself.
pub(super) fn forms(text: &str) -> Vec<String> {
    let in_json = serde_json::to_string(text).unwrap_or_default();
    // A text may itself begin or end with such a mark, whose backslash stays.
    let in_json = in_json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let in_json = in_json.unwrap_or_default().to_owned();
    let percent = utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    // Most encoders leave these as they are.
    let unreserved = [("%2D", "-"), ("%2E", "."), ("%5F", "_"), ("%7E", "~")];
    let usual = unreserved.iter().fold(percent.clone(), |usual, (code, c)| usual.replace(code, c));
    // As a browser's `encodeURIComponent` has it.
    let left = [("%21", "!"), ("%27", "'"), ("%28", "("), ("%29", ")"), ("%2A", "*")];
    let browsers = left.iter().fold(usual.clone(), |text, (code, c)| text.replace(code, c));
    let html = in_html(text);
    // As Go has it.
    let in_json_for_html = [("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")]
        .iter()
        .fold(in_json.clone(), |text, (c, code)| text.replace(c, code));
    let mut forms = vec![
        ascii(&in_json),
        ascii(&in_json_for_html),
        in_json_for_html,
        lower_percent(&percent),
        lower_percent(&usual),
        browsers,
        html.replace("&#39;", "&#x27;"),
        html.replace("&quot;", "&#34;"),
        // Some encoders escape this, too.
        in_json.replace('/', "\\/"),
        in_json,
        usual.replace("%2F", "/"),
        usual.replace("%20", "+"),
        percent,
        usual,
        html,
    ];
    forms.extend((0..3).flat_map(|before| in_base64(text, before)));
    forms.retain(|form| form != text && form.len() >= LEAST);
    forms
}

/// JSON with every character beyond ASCII as its code.
fn ascii(json: &str) -> String {
    let code = |c: char| {
        let mut units = [0; 2];
        c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()
    };
    json.chars().map(|c| if c.is_ascii() { c.to_string() } else { code(c) }).collect()
}

/// Percent-encoded, with the letters of the codes in lower case.
fn lower_percent(text: &str) -> String {
    let mut after = usize::MAX;
    let lower = |c: char| {
        after = if c == '%' { 0 } else { after.saturating_add(1) };
        if after <= 2 { c.to_ascii_lowercase() } else { c }
    };
    text.chars().map(lower).collect()
}

fn in_html(text: &str) -> String {
    let named = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")];
    named.iter().fold(text.to_owned(), |text, (c, name)| text.replace(c, name))
}

/// What is the same of a text in Base64, in both alphabets, after so many bytes modulo three of any other text and before
/// any other.
fn in_base64(text: &str, before: usize) -> [String; 2] {
    let whole = BASE64_STANDARD.encode([&vec![0; before][..], text.as_bytes()].concat());
    let first = (before * 8).div_ceil(6);
    let last = (before + text.len()) * 8 / 6;
    let part = whole.get(first..last).unwrap_or_default().to_owned();
    [part.replace('+', "-").replace('/', "_"), part]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_recognised_escaped_and_encoded() {
        let text = "pass\"word\\x1/w+rd=é <&'>";
        let forms = forms(text);
        let has = |form: &str| assert!(forms.iter().any(|known| form.contains(known)), "{form}: {forms:?}");
        has(r#"{"a": "pass\"word\\x1/w+rd=é <&'>"}"#);
        has(r#"{"a": "pass\"word\\x1/w+rd=\u00e9 <&'>"}"#);
        has(r#"{"a": "pass\"word\\x1\/w+rd=é <&'>"}"#);
        has("?k=pass%22word%5Cx1%2Fw%2Brd%3D%C3%A9%20%3C%26%27%3E");
        has("?k=pass%22word%5Cx1/w%2Brd%3D%C3%A9%20%3C%26%27%3E");
        has("k=pass%22word%5Cx1%2Fw%2Brd%3D%C3%A9+%3C%26%27%3E");
        has("<p>pass&quot;word\\x1/w+rd=é &lt;&amp;&#39;&gt;</p>");
        has("?k=pass%22word%5cx1%2fw%2brd%3d%c3%a9%20%3c%26%27%3e");
        has("?k=pass%22word%5Cx1%2Fw%2Brd%3D%C3%A9%20%3C%26'%3E");
        has(r#"{"a": "pass\"word\\x1/w+rd=é \u003c\u0026'\u003e"}"#);
        has("<p>pass&quot;word\\x1/w+rd=é &lt;&amp;&#x27;&gt;</p>");
        has("<p>pass&#34;word\\x1/w+rd=é &lt;&amp;&#39;&gt;</p>");
        for before in ["", "u", "u:", "me:", "user:"] {
            for after in ["", "!", "!!", "!!!"] {
                let whole = BASE64_STANDARD.encode(format!("{before}{text}{after}"));
                has(&whole);
                has(&whole.replace('+', "-").replace('/', "_"));
            }
        }
    }

    #[test]
    fn a_plain_word_has_no_other_form_but_base64() {
        let others = forms("canary-1234").into_iter().filter(|form| form.contains("canary"));
        assert_eq!(others.collect::<Vec<_>>(), ["canary%2d1234", "canary%2D1234"]);
    }
}
