//! Texts too long to be shown whole.

/// At most `max` characters, the beginning and the end, with the cut marked; the item keeps all.
pub(super) fn cut(text: &str, max: usize) -> String {
    // Bytes are never fewer than characters: the common case needs no counting.
    if text.len() <= max || text.chars().count() <= max {
        return text.to_owned();
    }
    let total = text.chars().count();
    let head: String = text.chars().take(max * 3 / 4).collect();
    let tail: String = text.chars().skip(total - max / 4).collect();
    format!("{head}\n[… {} of {total} characters left out …]\n{tail}", total - max * 3 / 4 - max / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_both_ends_and_says_what_is_missing() {
        let text = "ä".repeat(50) + &"z".repeat(50);
        let short = cut(&text, 20);
        assert!(short.starts_with("äääää") && short.ends_with("zzzzz"));
        assert!(short.contains("80 of 100 characters left out"), "{short}");
        assert_eq!(cut("short", 20), "short");
    }
}
