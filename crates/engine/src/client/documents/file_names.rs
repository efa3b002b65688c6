//! Names of files: safe on every system whatever a document is called, and each given once.

use std::collections::HashSet;

use entourage_types::fold_name;

/// What every exported file ends with.
const SUFFIX: &str = ".md";
/// The longest name before the suffix, in bytes: a file system takes 255 for the whole name, and one that stores names
/// decomposed needs up to three times as many for the same letters.
const BYTES: usize = 80;
/// What a document is called of whose name nothing is left.
const UNNAMED: &str = "document";
/// Names that Windows gives to devices, with any suffix.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
/// Names that are devices with a digit behind them.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Returns the names of files for documents of these names, in the same order: each is safe, and no two are the same for a
/// file system that ignores case. A document keeps its name where a file can have it, whatever the others are called: files
/// that are read back lead to the documents that they were.
#[must_use]
pub fn file_names<'a>(documents: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let documents: Vec<(&str, String)> =
        documents.into_iter().map(|document| (document, safe_stem(document))).collect();
    let mut order: Vec<usize> = (0..documents.len()).collect();
    order.sort_by_key(|at| fold_name(documents[*at].0) != fold_name(&documents[*at].1));
    let (mut given, mut names) = (HashSet::new(), vec![String::new(); documents.len()]);
    for at in order {
        let stem = &documents[at].1;
        let mut name = format!("{stem}{SUFFIX}");
        let mut times = 1_u32;
        while !given.insert(fold_name(&name)) {
            times += 1;
            name = format!("{stem} ({times}){SUFFIX}");
        }
        names[at] = name;
    }
    names
}

/// Returns a name without what any system refuses, interprets or hides.
pub(super) fn safe_stem(document: &str) -> String {
    let spelled: String = document.chars().filter(|c| !is_invisible(*c)).map(plain).collect();
    let bare = match spelled.len().checked_sub(SUFFIX.len()).and_then(|at| spelled.split_at_checked(at)) {
        Some((stem, suffix)) if suffix.eq_ignore_ascii_case(SUFFIX) => stem,
        _ => &spelled,
    };
    // A leading dot hides a file or leads out of the directory, and Windows drops trailing dots and blanks.
    let is_edge = |c: char| c == '.' || c.is_whitespace();
    let cut = bare.trim_matches(is_edge);
    let stem = cut[..cut.floor_char_boundary(BYTES)].trim_end_matches(is_edge);
    match stem {
        "" => UNNAMED.to_owned(),
        device if is_device(device) => format!("{device}_"),
        // Some programs take a leading dash for an option.
        stem => stem.strip_prefix('-').map_or_else(|| stem.to_owned(), |rest| format!("_{rest}")),
    }
}

/// Returns the character that stands for this one in the name of a file.
fn plain(c: char) -> char {
    match c {
        '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '_',
        c if c.is_control() => '_',
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

/// Whether a character cannot be seen and changes how others are: marks of direction, and joiners without a width.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Whether Windows takes a file of this name for a device. What counts is the part before the first dot.
fn is_device(stem: &str) -> bool {
    let first = stem.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let is_numbered = |device: &str| {
        let mut digits = first.strip_prefix(device).unwrap_or_default().chars();
        matches!((digits.next(), digits.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
    };
    DEVICES.contains(&&*first) || NUMBERED_DEVICES.into_iter().any(is_numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_safe_on_every_system() {
        for (document, file) in [
            ("Annual report", "Annual report.md"),
            ("notes.MD", "notes.md"),
            ("../../etc/passwd", "_.._etc_passwd.md"),
            ("..", "document.md"),
            ("a/b\\c:d*e?f\"g<h>i|j", "a_b_c_d_e_f_g_h_i_j.md"),
            (" .hidden. ", "hidden.md"),
            ("a\tb\n\0", "a_b__.md"),
            ("con", "con_.md"),
            ("NUL.txt", "NUL.txt_.md"),
            ("Com1", "Com1_.md"),
            ("lpt² .x", "lpt² .x_.md"),
            ("com10", "com10.md"),
            ("console", "console.md"),
            ("-rf", "_rf.md"),
            ("evil\u{202e}dm.exe", "evildm.exe.md"),
            ("日本語", "日本語.md"),
            ("\u{200b}", "document.md"),
        ] {
            assert_eq!(file_names([document]), [file], "{document:?}");
        }
    }

    #[test]
    fn no_two_files_have_the_same_name_whatever_ignores_case() {
        assert_eq!(
            file_names(["a:b", "A/B", "a_b", "a_b (2)", "ä", "A\u{308}"]),
            ["a_b (3).md", "A_B (4).md", "a_b.md", "a_b (2).md", "ä.md", "A\u{308} (2).md"],
            "who can keep a name keeps it"
        );
    }

    #[test]
    fn a_file_name_is_as_long_as_a_file_system_takes() {
        for document in ["x".repeat(200), "界".repeat(200), "😀. ".repeat(60)] {
            let [name] = &file_names([&*document])[..] else { panic!("one name") };
            assert!(name.len() <= BYTES + SUFFIX.len() && name.ends_with(SUFFIX), "{name}");
        }
    }
}
