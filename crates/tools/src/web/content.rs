//! The form of a body, from its declared type, and its decoding to text.

use encoding_rs::{Encoding, UTF_8};

/// How to read a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A page, of which only the readable part is returned.
    Html,
    /// Text, returned unchanged.
    Text,
}

impl Form {
    /// Returns the form of a `Content-Type`; none if it is not text. A body without one counts as text.
    pub(super) fn of(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "" | "application/json" | "application/xml" | "application/x-ndjson" => Some(Self::Text),
            _ if essence.starts_with("text/") => Some(Self::Text),
            _ if essence.ends_with("+json") || essence.ends_with("+xml") => Some(Self::Text),
            _ => None,
        }
    }
}

/// How far into a page to look for its own charset declaration.
const HEAD_BYTES: usize = 1024;

/// Decodes a body by the charset that is declared in its header or in the body itself. Valid UTF-8 is decoded
/// as UTF-8 whatever is declared, unless the declared charset looks like ASCII and is not.
pub(super) fn decoded(body: &[u8], content_type: &str) -> String {
    let head = String::from_utf8_lossy(&body[..body.len().min(HEAD_BYTES)]);
    // A page that declares in ASCII that it is UTF-16 is wrong.
    let own = || declared(&head).map(Encoding::output_encoding);
    let encoding = declared(content_type).or_else(own).unwrap_or(UTF_8);
    let is_utf_8 = encoding.is_ascii_compatible() && std::str::from_utf8(body).is_ok();
    let encoding = if is_utf_8 { UTF_8 } else { encoding };
    encoding.decode(body).0.into_owned()
}

/// Returns the charset of the XML declaration, or of the first `charset=`, if it is a known web encoding.
fn declared(text: &str) -> Option<&'static Encoding> {
    let text = text.to_ascii_lowercase();
    let of_xml = || text.trim_start().strip_prefix("<?xml")?.split_once("?>")?.0.split_once("encoding=");
    let (_, value) = of_xml().or_else(|| text.split_once("charset="))?;
    let value = value.trim_start_matches(['"', '\'', ' ']);
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c)).unwrap_or(value.len());
    Encoding::for_label_no_replacement(&value.as_bytes()[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_in_its_declared_charset() {
        for (bytes, content_type, expected) in [
            (b"\xcf\xf0\xe8\xe2\xe5\xf2".as_slice(), "text/plain; charset=windows-1251", "Привет"),
            (b"\x93\xfa\x96\x7b", "text/plain; charset=Shift_JIS", "日本"),
            (b"\x1b$BF|K\\\x1b(B", "text/plain; charset=\"ISO-2022-JP\"", "日本"),
            (b"\xd6\xd0\xce\xc4", "text/plain; charset=gb2312", "中文"),
            (b"\xc7\xd1\xb1\xdb", "text/plain; charset=euc-kr", "한글"),
            (b"\xff\xfeh\0i\0", "text/plain", "hi"),
            (b"h\0i\0", "text/plain; charset=utf-16le", "hi"),
            // A wrong declaration, and an unknown charset.
            ("größe".as_bytes(), "text/plain; charset=windows-1251", "größe"),
            ("größe".as_bytes(), "text/plain; charset=unheard-of", "größe"),
        ] {
            assert_eq!(decoded(bytes, content_type), expected, "{content_type}");
        }
        for (bytes, expected) in [
            ("<meta charset=\"utf-16\">größe".as_bytes(), "größe"),
            (b"<meta charset=\"euc-jp\">\xc6\xfc\xcb\xdc", "日本"),
            (b"<?xml version='1.0' encoding='windows-1251'?>\xe4\xe0", "да"),
        ] {
            let text = decoded(bytes, "");
            assert!(text.ends_with(expected), "{text}");
        }
    }
}
