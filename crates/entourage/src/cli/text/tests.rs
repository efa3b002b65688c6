//! Tests of what passes the filter, and how much room it takes.

use entourage_types::acts;
use proptest::prelude::*;

use super::{
    super::{describe, paint::Paint},
    *,
};

/// Text with characters that a terminal might act on, among ordinary signs.
fn hostile() -> impl Strategy<Value = String> {
    let sign = prop_oneof![
        any::<char>(),
        (0u32..0xa0).prop_map(|code| char::from_u32(code).unwrap()),
        prop::sample::select(vec![
            '\x1b', '[', ']', 'm', '\u{9b}', '\r', '\n', '\u{202e}', '\u{2066}', '語', '🦀'
        ]),
    ];
    prop::collection::vec(sign, 0..60).prop_map(String::from_iter)
}

proptest! {
    /// Whatever comes in, the output has nothing that a terminal would act on.
    #[test]
    fn filtered_text_has_no_character_that_a_terminal_acts_on(foreign in hostile()) {
        let text = text!["says: ", &foreign];
        prop_assert!(!text.as_str().chars().any(acts), "{:?}", text);
        prop_assert!(!json(&serde_json::to_string(&foreign).unwrap()).chars().any(acts));
        for row in rows(&foreign, 20).into_iter().chain(block(&foreign, 20)) {
            prop_assert!(!row.chars().any(|char| acts(char) || char == '\n'), "{row:?}");
        }
    }

    /// Characters that only show are not changed.
    #[test]
    fn printable_characters_pass_unchanged(foreign in "[\\PC\n\t]{0,60}") {
        // A character that chooses the form of a sign may have no sign before it.
        let plain: String = foreign.chars().filter(|char| !acts(*char) && !matches!(char, '\u{fe0e}' | '\u{fe0f}')).collect();
        let text = Text::from(&plain);
        prop_assert_eq!(text.as_str(), plain);
    }

    /// JSON keeps its value.
    #[test]
    fn filtered_json_keeps_its_value(foreign in hostile()) {
        let safe = json(&serde_json::to_string(&foreign).unwrap());
        prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), foreign);
    }

    /// A cut text fits, and its styles end.
    #[test]
    fn a_cut_text_fits_its_columns_and_ends_its_styles(first in hostile(), second in hostile(), columns in 0usize..50) {
        let cut = text![&first, Text::from(&second).painted(1)].cut(columns);
        prop_assert!(cut.width() <= columns);
        prop_assert!(!cut.as_str().contains('\n'));
        prop_assert_eq!(cut.as_str().contains("\x1b[1m"), cut.as_str().ends_with(PLAIN));
    }

    /// Rows fit, and lose nothing but the white space at their breaks.
    #[test]
    fn wrapped_rows_fit_and_lose_only_white_space(foreign in hostile(), columns in 2usize..50) {
        let rows = rows(&foreign, columns);
        prop_assert!(rows.iter().all(|row| row.width() <= columns), "{rows:?}");
        let signs = |text: &str| text.chars().filter(|char| !char.is_whitespace()).collect::<String>();
        prop_assert_eq!(signs(&rows.concat()), signs(Text::from(&foreign).as_str()));
    }
}

/// The codes that are shown name the characters that were there.
#[test]
fn a_control_character_is_shown_as_its_code() {
    let text = Text::from("\x1b]52;c;aGk=\x07 \u{9b}2J \u{202e}txt\r\nnext\rline\x7f");
    assert_eq!(
        text.as_str(),
        r"\u{1b}]52;c;aGk=\u{7} \u{9b}2J \u{202e}txt".to_owned() + "\nnext" + r"\u{d}line\u{7f}"
    );
    assert_eq!(json("{\"a\":\"\u{9b}\u{7f}\"}"), r#"{"a":"\u009b\u007f"}"#);
}

/// Characters that a reader does not see are shown as codes, in a terminal and in JSON; those that form a
/// sign are a part of it.
#[test]
fn an_invisible_character_is_shown_as_its_code() {
    for (hidden, shown, json_shown) in [
        ('\u{e0041}', r"\u{e0041}", r"\udb40\udc41"),
        ('\u{200b}', r"\u{200b}", r"\u200b"),
        ('\u{feff}', r"\u{feff}", r"\ufeff"),
        ('\u{ad}', r"\u{ad}", r"\u00ad"),
        ('\u{180e}', r"\u{180e}", r"\u180e"),
        ('\u{2028}', r"\u{2028}", r"\u2028"),
        ('\u{2029}', r"\u{2029}", r"\u2029"),
        ('\u{200c}', r"\u{200c}", r"\u200c"),
        ('\u{200d}', r"\u{200d}", r"\u200d"),
        ('\u{e000}', r"\u{e000}", r"\ue000"),
        ('\u{fffe}', r"\u{fffe}", r"\ufffe"),
        ('\u{13430}', r"\u{13430}", r"\ud80d\udc30"),
    ] {
        assert_eq!(Text::from(format!("a{hidden}b")).as_str(), format!("a{shown}b"));
        assert_eq!(block(&format!("{hidden}b\n"), 40), [format!("  │ {shown}b")]);
        assert_eq!(Text::from(describe::short(&format!("a{hidden}b"))).as_str(), format!("a{shown}b"));
        assert_eq!(json(&format!("\"a{hidden}\"")), format!("\"a{json_shown}\""));
    }
    for whole in ["👩\u{200d}👧", "❤\u{fe0f}\u{200d}🔥", "می\u{200c}خواهم", "क्\u{200d}ष"]
    {
        assert_eq!(Text::from(whole).as_str(), whole);
        assert_eq!(json(whole), whole);
    }
    assert_eq!(Text::from("👩\u{200c}👧 می\u{200d}\u{200d}").as_str(), "👩\\u{200c}👧 می\u{200d}\\u{200d}");
}

/// A form passes only after a sign that has several forms: anywhere else it would be invisible.
#[test]
fn a_variation_selector_passes_only_after_a_character_with_variants() {
    for whole in ["❤\u{fe0f}", "☎\u{fe0e}!", "#\u{fe0f}\u{20e3}", "©\u{fe0f}", "🏳\u{fe0f}\u{200d}🌈"]
    {
        assert_eq!(Text::from(whole).as_str(), whole);
        assert_eq!(json(whole), whole);
    }
    for (hidden, shown, json_shown) in [
        ("a\u{fe0f}b", r"a\u{fe0f}b", r"a\ufe0fb"),
        ("\u{fe0e}", r"\u{fe0e}", r"\ufe0e"),
        ("می\u{fe0e}", r"می\u{fe0e}", r"می\ufe0e"),
        ("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}\\u{fe0f}", "❤\u{fe0f}\\ufe0f"),
        ("❤\u{fe0f}\u{fe0f}\u{fe0f}", "❤\u{fe0f}\\u{fe0f}\\u{fe0f}", "❤\u{fe0f}\\ufe0f\\ufe0f"),
        // Nor do they turn another character into a sign, which could be joined with another.
        ("a\u{fe0f}\u{200d}b", r"a\u{fe0f}\u{200d}b", r"a\ufe0f\u200db"),
        ("1\u{fe0f}\u{200d}b", "1\u{fe0f}\\u{200d}b", "1\u{fe0f}\\u200db"),
    ] {
        assert_eq!(Text::from(hidden).as_str(), shown);
        assert_eq!(json(hidden), json_shown);
    }
}

/// Paint is the only source of escape sequences, and takes only filtered text.
#[test]
fn only_paint_writes_escape_sequences() {
    assert_eq!(Paint::always().red("a\x1b[1mb").as_str(), "\x1b[31ma\\u{1b}[1mb\x1b[0m");
}

/// Wide signs take two columns, and a family of joined signs is not split.
#[test]
fn wide_characters_take_two_columns() {
    assert_eq!(Text::from("漢字").width(), 4);
    assert_eq!(Text::from("漢字か").cut(5).as_str(), "漢字");
    assert_eq!(rows("漢字かな", 5), ["漢字", "かな"]);
    assert_eq!(rows("one two three", 8), ["one two", "three"]);
    assert_eq!(rows("  one two threefold", 9), ["  one two", "  threefo", "  ld"]);
    assert_eq!(Text::from("👩‍👩‍👧!").cut(2).as_str(), "👩‍👩‍👧");
    assert_eq!(block("first\nsecond", 40), ["  │ first", "  │ second"]);
    assert_eq!(margined("  one two\n\n\tthree\n", None).as_str(), "\n  │   one two\n  │ \n  │ \tthree");
    assert_eq!(margined("one two", Some(9)).as_str(), "\n  │ one\n  │ two");
}

/// A model's answer is streamed in pieces, which may begin anywhere.
#[test]
fn a_joiner_may_arrive_in_a_later_piece_than_its_characters() {
    for (pieces, expected) in [
        (
            &["می", "\u{200c}خواهم", " 👩", "\u{200d}", "👧 plain", "\u{200d}"][..],
            "می\u{200c}خواهم 👩\u{200d}👧 plain\\u{200d}",
        ),
        (
            &["❤", "\u{fe0f}", "\u{200d}", "🔥 ❤\u{fe0f}", "\u{fe0f}", "\u{200d} a", "\u{fe0f}"],
            "❤\u{fe0f}\u{200d}🔥 ❤\u{fe0f}\\u{fe0f}\\u{200d} a\\u{fe0f}",
        ),
        (&["a\r", "\nb\r", "", "\n\r", "c\r"], "a\nb\n\\u{d}c"),
    ] {
        let mut before = None;
        let shown: Text = pieces.iter().map(|piece| Text::following(&mut before, piece)).collect();
        assert_eq!(shown.as_str(), expected);
    }
}
