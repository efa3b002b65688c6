//! Texts in which a person sees nothing.

/// Whether nothing of a text is seen: it has no character but blanks and those that show nothing.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || shows_nothing(c))
}

/// Whether a character that is no blank is shown as nothing or as a blank: joiners, marks of direction, fillers, forms of
/// other characters, tags.
const fn shows_nothing(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_blank_until_it_has_a_character_that_shows() {
        for blank in
            ["", " \t\n", "\u{200b}", "\u{feff} \u{2060}", "\u{3164}\u{2800}", "\u{e0041}", "\u{fe0f}"]
        {
            assert!(is_blank(blank), "{blank:?}");
        }
        for shown in ["a", "\u{200b}.", "क्\u{200d}ष", "❤\u{fe0f}", "\0"] {
            assert!(!is_blank(shown), "{shown:?}");
        }
    }
}
