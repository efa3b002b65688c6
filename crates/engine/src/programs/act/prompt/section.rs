//! Data in a prompt: XML sections whose text cannot close them, nor open others.

use crate::{programs::act::naming::on_one_line, prompt::escaped};

/// Renders a section. Its attributes are escaped already, its text is not.
pub(super) fn section(name: &str, attributes: &[(&str, &str)], text: &str) -> String {
    match text.trim_matches('\n') {
        "" => element(name, attributes, ""),
        text => element(name, attributes, &format!("\n{}\n", escaped_text(text))),
    }
}

/// Renders a section of sections. All of it is escaped already.
pub(super) fn element(name: &str, attributes: &[(&str, &str)], content: &str) -> String {
    let attributes: String = attributes.iter().map(|(key, value)| format!(" {key}=\"{value}\"")).collect();
    format!("<{name}{attributes}>{content}</{name}>")
}

/// Escapes what stands between tags. Quotation marks mean nothing there, and a model that writes the text anew would
/// copy their entities.
fn escaped_text(text: &str) -> String {
    // No other `&quot;` is left: one in the text is `&amp;quot;` now.
    escaped(text).replace("&quot;", "\"")
}

/// Escapes the value of an attribute, which is one line.
pub(super) fn escaped_attribute(value: &str) -> String {
    escaped(&on_one_line(value)).into_owned()
}
