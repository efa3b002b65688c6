//! Bounds what is stored of tool outputs, because a transcript is in memory whenever its agent is at work.

use entourage_types::{Item, ItemBody, Output, Step, SubOutput, ToolCall};

use crate::transcript_cache::of_value;

/// The most bytes, as JSON, that are stored of the text of one output: no reader needs more than a book.
const MOST_OF_ONE: usize = 4 << 20;
/// Up to this many bytes of outputs, a session stores them whole; a later output is cut to what the model
/// reads of one.
const MOST_WHOLE: usize = 32 << 20;
/// From this many bytes of outputs on, a session stores only 200 characters of each further one.
const MOST: usize = 48 << 20;

/// Returns the output of a call that succeeded.
pub(in crate::run) fn succeeded(call: &ToolCall, text: impl Into<String>) -> Output {
    output(call, text, false)
}

/// Returns the output of a call that failed, or was not made.
pub(in crate::run) fn failed(call: &ToolCall, text: impl Into<String>) -> Output {
    output(call, text, true)
}

/// Returns the output of a call; of a text that is longer than `MOST_OF_ONE` it keeps the beginning.
pub(in crate::run) fn output(call: &ToolCall, text: impl Into<String>, error: bool) -> Output {
    let mut text = text.into();
    if text.len() > MOST_OF_ONE || size(&text) > MOST_OF_ONE {
        let returned = text.len();
        cut(&mut text, MOST_OF_ONE);
        let kept = text.len();
        text.push_str(&format!("\n[cut: the tool returned {returned} bytes, and the first {kept} are kept]"));
    }
    Output { call: call.id, tool: call.tool.clone(), text, error, effect: None, details: None }
}

/// Returns how many bytes of outputs, and of arguments that code has given, a session stores, including those of the
/// current turn.
pub(in crate::run) fn kept(items: &[Item], steps: &[Step]) -> usize {
    let joined = items.iter().map(|item| match &item.body {
        ItemBody::Output(output) | ItemBody::SubOutput(SubOutput { output, .. }) => weight(output),
        // What code reports is an argument, and the text of a notice.
        ItemBody::Notice(notice) => notice.text.len(),
        ItemBody::SubCalls(made) => made.calls.iter().map(|call| of_value(&call.arguments)).sum(),
        _ => 0,
    });
    joined.chain(steps.iter().filter_map(Step::output).map(weight)).sum()
}

/// Cuts an output if the session already stores `kept` bytes of them, and adds its bytes to `kept`. `shown`
/// is how many characters of one output the model reads.
pub(in crate::run) fn keep_within(kept: &mut usize, output: &mut Output, shown: usize) {
    // The details are for programs, and are dropped first.
    if *kept + weight(output) > MOST_WHOLE {
        output.details = None;
    }
    let returned = size(&output.text);
    let room = match *kept {
        kept if kept >= MOST => 200,
        kept if kept + returned > MOST_WHOLE => shown,
        _ => usize::MAX,
    };
    if let Some((end, _)) = output.text.char_indices().nth(room) {
        output.text.truncate(end);
        output.text.push_str(&format!(
            "\n[cut: the tool results of this session have reached the limit of {} MiB: ask for less at \
             once, or close the session]",
            *kept >> 20
        ));
    }
    *kept += weight(output);
}

/// Whether a session that stores `kept` bytes stores only the beginning of each further output.
pub(in crate::run) const fn is_full(kept: usize) -> bool {
    kept >= MOST
}

/// Returns the size of an output, in bytes.
fn weight(output: &Output) -> usize {
    size(&output.text) + output.details.as_ref().map_or(0, of_value)
}

/// Returns the approximate size of a text as JSON, in bytes: most control characters take six.
fn size(text: &str) -> usize {
    text.len() + 5 * text.bytes().filter(|byte| is_long(*byte)).count()
}

fn is_long(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t')
}

/// Cuts a text to at most `most` bytes as JSON.
fn cut(text: &mut String, most: usize) {
    let mut size = 0;
    let mut fits = |byte: &u8| {
        size += if is_long(*byte) { 6 } else { 1 };
        size <= most
    };
    let end = text.as_bytes().iter().take_while(|byte| fits(byte)).count();
    text.truncate(text.floor_char_boundary(end));
}

#[cfg(test)]
mod tests {
    use entourage_types::CallId;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_kept_part_of_an_output_is_measured_as_json() {
        let call = ToolCall { id: CallId::new(), tool: "say".into(), arguments: json!({}) };
        for (text, kept) in
            [("a", MOST_OF_ONE), ("\u{1}", MOST_OF_ONE / 6), ("ä", MOST_OF_ONE), ("\n", MOST_OF_ONE)]
        {
            let whole = succeeded(&call, text.repeat(kept / text.len()));
            assert!(!whole.text.contains("[cut"), "{text:?}");
            let cut = succeeded(&call, text.repeat(2 * MOST_OF_ONE));
            let said = format!(
                "\n[cut: the tool returned {} bytes, and the first {kept} are kept]",
                text.len() * 2 * MOST_OF_ONE
            );
            assert!(cut.text.ends_with(&said), "{text:?}: {}", &cut.text[cut.text.len() - 120..]);
        }
    }
}
