//! Which characters only show. Foreign text can have others: what acts on a terminal, turns the direction of reading, or
//! shows nothing. People must not approve what they do not see.

/// Whether a terminal or a page does something other than show a character, or shows nothing for it.
#[must_use]
pub fn acts(char: char) -> bool {
    // C0, DEL and C1 (0x9B begins an escape sequence as ESC [ does); characters that change the reading
    // direction show text in another order.
    let turns = matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || hides(char) || char.is_control() && !matches!(char, '\n' | '\t')
}

/// Whether a character shows nothing, or looks like the end of a line: a user would approve text that they do
/// not see, or that each font shows differently.
fn hides(char: char) -> bool {
    matches!(
        char,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0d}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{10ffff}'
    ) || u32::from(char) & 0xfffe == 0xfffe // no character in any plane
}

/// Whether a character only shows. `before` is the character before it, and afterwards this one, if the next
/// character may build on it.
pub fn shows_in(before: &mut Option<char>, char: char) -> bool {
    let shows = !acts(char) && !hides_between(*before, char);
    // A form belongs to its sign: if the sign joins others, so does the form.
    let builds = shows && (!is_form(char) || before.is_some_and(pictured));
    *before = Some(char).filter(|_| builds);
    shows
}

/// Whether a character chooses how the sign before it is shown: as text, or as a picture.
fn is_form(char: char) -> bool {
    matches!(char, '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a character is a picture, or in a block with pictures.
fn pictured(char: char) -> bool {
    matches!(char, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a character that joins or separates signs or chooses their form is where there is nothing to join
/// and no form to choose: such text looks like other text. Scripts with joined letters need the first two,
/// emoji the first and the last.
fn hides_between(before: Option<char>, char: char) -> bool {
    let joined = |char| {
        matches!(char, '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1900}'..='\u{1cff}'
            | '\u{a840}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
            | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
    };
    // Signs of other blocks that are shown as text or as a picture.
    let formed = |char| {
        matches!(char, '0'..='9' | '#' | '*' | '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙')
    };
    match char {
        '\u{200c}' => !before.is_some_and(joined),
        '\u{200d}' => {
            !before.is_some_and(|before| joined(before) || pictured(before) || before == '\u{fe0f}')
        }
        char if is_form(char) => !before.is_some_and(|before| pictured(before) || formed(before)),
        _ => false,
    }
}
