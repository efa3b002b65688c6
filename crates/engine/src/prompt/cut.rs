//! Cuts texts that are too long to be shown whole.

use entourage_types::tool_names::READ_OUTPUT;

/// Returns at most `max` characters of a text, its beginning and end, and marks the cut; the item keeps the
/// whole text. If the item's number is given, the mark says how to read on.
pub(crate) fn cut(text: &str, max: usize, item: Option<u64>) -> String {
    if !is_longer(text, max) {
        return text.to_owned();
    }
    let total = text.chars().count();
    let from = max * 3 / 4;
    let head: String = text.chars().take(from).collect();
    let tail: String = text.chars().skip(total - max / 4).collect();
    let left_out = total - from - max / 4;
    let next = item.map(|item| format!("; {READ_OUTPUT} with item {item} from {from} reads on"));
    format!("{head}\n[… {left_out} of {total} characters left out{} …]\n{tail}", next.unwrap_or_default())
}

/// Whether a text has more than `max` characters.
pub(super) fn is_longer(text: &str, max: usize) -> bool {
    // Bytes are never fewer than characters: the common case needs no counting.
    text.len() > max && text.chars().count() > max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_both_ends_and_says_what_is_missing() {
        let text = "ä".repeat(50) + &"z".repeat(50);
        let short = cut(&text, 20, Some(7));
        assert!(short.starts_with("äääää") && short.ends_with("zzzzz"));
        assert!(short.contains("80 of 100 characters left out; read_output with item 7 from 15"), "{short}");
        assert!(!cut(&text, 20, None).contains("read_output"));
        assert_eq!(cut("short", 20, Some(7)), "short");
    }
}
