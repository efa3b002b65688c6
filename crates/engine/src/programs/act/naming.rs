//! The name of a new document: from the decision, its intent statement, the user's message, or a number.

use entourage_types::{DOCUMENT_NAME_CHARS, fold_name};

use super::{decision::ActDecision, excerpt::DocumentExcerpt};

/// Pairs of quotation marks, and of marks of Markdown that do their work.
const QUOTES: [(char, char); 16] = [
    ('\'', '\''),
    ('"', '"'),
    ('`', '`'),
    ('*', '*'),
    ('‘', '’'),
    ('’', '’'),
    ('“', '”'),
    ('”', '”'),
    ('„', '“'),
    ('„', '”'),
    ('‚', '‘'),
    ('«', '»'),
    ('»', '«'),
    ('‹', '›'),
    ('「', '」'),
    ('『', '』'),
];

/// The words after which a name stands (S5-R068), first those that only a name follows.
const NAMING: [&[&str]; 2] = [&["called", "named"], &["for"]];
/// The words of a message after which a name may stand (S5-R070).
const ACTIONS: &[&str] = &["add", "create", "make", "new"];
/// The most words of a name that nothing marks as one: in a message (S5-R070), and in an intent statement.
const WORDS_OF_MESSAGE: usize = 3;
const WORDS_OF_STATEMENT: usize = 6;

/// Words before a name that belong to the sentence: `a new document about …`.
const BEFORE: &[&str] = &[
    "a",
    "an",
    "the",
    "this",
    "that",
    "some",
    "another",
    "one",
    "my",
    "our",
    "your",
    "me",
    "us",
    "you",
    "it",
    "new",
    "empty",
    "blank",
    "document",
    "documents",
    "doc",
    "file",
    "page",
    "please",
    "called",
    "named",
    "titled",
    "name",
    "title",
    "for",
    "about",
    "on",
    "of",
    "is",
    "be",
    "should",
];
/// Words at which a name ends: the sentence goes on.
const AFTER: &[&str] = &[
    "with",
    "that",
    "which",
    "where",
    "containing",
    "including",
    "based",
    "using",
    "so",
    "then",
    "because",
    "as",
    "please",
];
/// Words that no name ends with.
const TRAILING: &[&str] = &[
    "a", "an", "the", "this", "my", "our", "your", "and", "or", "to", "in", "into", "on", "of", "for",
    "from", "about", "at", "by", "new", "document", "doc", "file",
];

/// Returns the name of the document that a decision about this message creates, on one line: the first of the decision's own (S5-R067), that of its intent
/// statement (S5-R068, S5-R069), that of the message (S5-R070), and the next number (S5-R071). One that was found in a sentence has at
/// most [`DOCUMENT_NAME_CHARS`] characters; one that was decided is not cut, and may be refused.
pub(crate) fn name_for(decision: &ActDecision, message: &str, documents: &[DocumentExcerpt]) -> String {
    let given = || unquoted(&on_one_line(decision.document_name.as_deref()?));
    let stated = || in_statement(&on_one_line(decision.intent_statement.as_deref()?));
    let said = || after_any(&on_one_line(message), ACTIONS, WORDS_OF_MESSAGE);
    given().or_else(stated).or_else(said).unwrap_or_else(|| numbered(documents))
}

/// Returns a text with single blanks instead of all else that separates words, and without control characters.
pub(crate) fn on_one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns `Document` and the number of the documents with this one, or the next number that no name has.
fn numbered(documents: &[DocumentExcerpt]) -> String {
    let is_free = |name: &String| {
        let key = fold_name(name);
        documents.iter().all(|document| fold_name(&document.head.name) != key)
    };
    let first = documents.len() + 1;
    let mut names = (first..=first + documents.len()).map(|number| format!("Document {number}"));
    // Among one more names than there are documents, one is free.
    names.find(is_free).unwrap_or_else(|| format!("Document {first}"))
}

/// Returns the name in an intent statement: after `called`, `named` or `for`, or else after `create`.
fn in_statement(statement: &str) -> Option<String> {
    let named = NAMING.iter().find_map(|words| after_any(statement, words, WORDS_OF_STATEMENT));
    named.or_else(|| after_any(statement, &["create"], WORDS_OF_STATEMENT))
}

/// Returns the name after the first of these words that one follows.
fn after_any(text: &str, words: &[&str], most: usize) -> Option<String> {
    let tokens: Vec<&str> = text.split(' ').collect();
    (0..tokens.len()).filter(|at| is_any(tokens[*at], words)).find_map(|at| name_in(&tokens[at + 1..], most))
}

/// Returns the name with which these words begin: a quoted one whole, otherwise at most so many words, as far as the
/// sentence does not go on.
fn name_in(tokens: &[&str], most: usize) -> Option<String> {
    let from = tokens.iter().position(|token| quote_of(token).is_some() || !is_any(token, BEFORE))?;
    let tokens = &tokens[from..];
    if let Some(name) = quoted(&tokens.join(" ")) {
        return out_of_sentence(&name);
    }
    let mut name: Vec<&str> = Vec::new();
    for token in tokens.iter().take(most) {
        if is_any(token, AFTER) || (is_any(token, &["and"]) && !goes_on(&tokens[name.len() + 1..])) {
            break;
        }
        name.push(token);
        if token.ends_with(['.', ',', ';', ':', '!', '?']) {
            break;
        }
    }
    while name.last().is_some_and(|last| is_any(last, TRAILING)) {
        name.pop();
    }
    out_of_sentence(&name.join(" "))
}

/// Whether what follows an `and` may belong to a name with it, as in `Travel and Food`.
fn goes_on(tokens: &[&str]) -> bool {
    tokens.first().is_some_and(|next| next.starts_with(char::is_uppercase))
}

/// Whether a word is one of these, whatever its case and the punctuation around it.
fn is_any(token: &str, words: &[&str]) -> bool {
    let word = token.trim_matches(|c: char| !c.is_alphanumeric());
    words.iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// Returns the marks that may close what the first character of a text opens.
fn quote_of(text: &str) -> Option<impl Iterator<Item = char>> {
    let first = text.chars().next()?;
    let closing = move || QUOTES.iter().filter(move |(open, _)| *open == first).map(|(_, close)| *close);
    closing().next().map(|_| closing())
}

/// Returns what stands between the quotation marks with which a text begins. An apostrophe within a word closes none.
fn quoted(text: &str) -> Option<String> {
    let closing: Vec<char> = quote_of(text)?.collect();
    let inner = text.trim_start_matches(text.chars().next()?);
    let end = inner.char_indices().find(|(at, character)| {
        let after = inner[at + character.len_utf8()..].chars().next();
        *at > 0 && closing.contains(character) && !after.is_some_and(char::is_alphanumeric)
    });
    end.map(|(at, _)| inner[..at].to_owned())
}

/// Returns a name that a sentence may end with, without the end of the sentence.
fn out_of_sentence(text: &str) -> Option<String> {
    let name = unquoted(text.trim_end_matches(['.', ',', ';', ':', '!', '?', ' ']))?;
    let end = name.char_indices().nth(DOCUMENT_NAME_CHARS).map_or(name.len(), |(at, _)| at);
    Some(name[..end].trim_end().to_owned())
}

/// Returns a name without the quotation marks and blanks around it; none if nothing is left.
fn unquoted(text: &str) -> Option<String> {
    let mut name = text.trim();
    while let Some(inner) =
        QUOTES.iter().find_map(|(open, close)| name.strip_prefix(*open)?.strip_suffix(*close))
    {
        name = inner.trim();
    }
    let says_something =
        |c: char| !c.is_ascii_punctuation() && QUOTES.iter().all(|(a, b)| c != *a && c != *b);
    name.contains(says_something).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::document, *};

    fn name(given: Option<&str>, stated: Option<&str>, message: &str) -> String {
        let decision = ActDecision::read(json!({ "document_name": given, "intent_statement": stated }));
        name_for(&decision, message, &[document(1, "Other")])
    }

    /// Shows: S5-R067, S5-R068, S5-R070, S5-R071.
    #[test]
    fn the_sources_of_a_name_have_an_order() {
        let (given, stated, message) =
            (Some("Recipes"), Some("I'll create a document called Food"), "Add my meals");
        assert_eq!(name(given, stated, message), "Recipes");
        assert_eq!(name(None, stated, message), "Food");
        assert_eq!(name(Some("  "), stated, message), "Food", "a blank name is no name");
        assert_eq!(name(Some("\"\""), stated, message), "Food");
        assert_eq!(name(None, None, message), "meals");
        assert_eq!(name(None, Some("I'll do that."), message), "meals");
        assert_eq!(name(None, None, "Write it down"), "Document 2");
    }

    /// Shows: S5-R067, S5-R072.
    #[test]
    fn the_name_of_the_decision_loses_its_quotes_and_nothing_else() {
        for (given, wanted) in [
            ("Recipes", "Recipes"),
            (" 'Recipes' ", "Recipes"),
            ("\"Travel Guide\"", "Travel Guide"),
            ("“Travel Guide”", "Travel Guide"),
            ("Why Rust?", "Why Rust?"),
            ("Acme Inc.", "Acme Inc."),
            ("„Reise nach Köln“", "Reise nach Köln"),
            ("«Carnet de voyage»", "Carnet de voyage"),
            ("「旅行」", "旅行"),
            ("**Budget**", "Budget"),
            ("`notes.md`", "notes.md"),
            ("'\"Both\"'", "Both"),
            ("Mom's Recipes", "Mom's Recipes"),
            ("Travel\n  Guide\u{7}", "Travel Guide"),
            ("The New Document", "The New Document"),
            ("2025 (draft)", "2025 (draft)"),
            ("🎉", "🎉"),
        ] {
            assert_eq!(name(Some(given), None, ""), wanted, "{given:?}");
        }
        for blank in ["''", "\"  \"", "...", "'\u{1}'", "***"] {
            assert_eq!(name(Some(blank), None, ""), "Document 2", "{blank:?}");
        }
        let long = "é".repeat(500);
        assert_eq!(name(Some(&long), None, ""), long, "it is refused, and not called something else");
    }

    /// Shows: S5-R068, S5-R069, S5-R072.
    #[test]
    fn an_intent_statement_names_the_document() {
        for (stated, wanted) in [
            ("I'll create a new document called 'Recipes'", "Recipes"),
            ("I'll create a new document called Recipes.", "Recipes"),
            ("I'll create a document NAMED \"Travel Guide\" with three sections.", "Travel Guide"),
            ("I'll create a document called Travel Guide with three sections.", "Travel Guide"),
            ("I'll create a document called 'Mom's Recipes' for you.", "Mom's Recipes"),
            (
                "I'll create a document called “The Lord of the Rings, Part One” now",
                "The Lord of the Rings, Part One",
            ),
            ("I'll create a document called **Budget**.", "Budget"),
            ("I'll create a document called Travel and Food.", "Travel and Food"),
            ("I'll create a document called Recipes and add your notes.", "Recipes"),
            ("I'll create a document for your trip called 'Japan'", "Japan"),
            ("I'll create a new document for your favorite recipes.", "favorite recipes"),
            ("I'll create a document for you named Plans", "Plans"),
            ("I'll create Recipes", "Recipes"),
            ("I'll create a Recipes document.", "Recipes"),
            ("I'll create the 'Budget 2025' document.", "Budget 2025"),
            ("I'll CREATE a document about Rust", "Rust"),
            ("I'll create a new document.", "Document 2"),
            ("I'll create a document with three sections.", "Document 2"),
            ("I'll create a document for you.", "Document 2"),
            ("I'll recreate nothing.", "Document 2"),
        ] {
            assert_eq!(name(None, Some(stated), ""), wanted, "{stated}");
        }
    }

    /// Shows: S5-R070, S5-R072.
    #[test]
    fn a_message_names_the_document_in_one_to_three_words() {
        for (message, wanted) in [
            ("Add my favorite recipes", "favorite recipes"),
            ("add Recipes", "Recipes"),
            ("Please CREATE a Travel Guide!", "Travel Guide"),
            ("Create a new document called Recipes", "Recipes"),
            ("Create a document called 'The Lord of the Rings'", "The Lord of the Rings"),
            ("make a shopping list for the whole family", "shopping list"),
            ("Make me a document about my trip to Japan in spring", "trip to Japan"),
            ("I need a new budget, and quickly", "budget"),
            ("Add milk to the list", "milk"),
            ("Create “Reading List”, please", "Reading List"),
            ("Create a new document", "Document 2"),
            ("new", "Document 2"),
            ("Address the newest renewal", "Document 2"),
            ("", "Document 2"),
        ] {
            assert_eq!(name(None, None, message), wanted, "{message}");
        }
    }

    /// Shows: S5-R071.
    #[test]
    fn the_last_resort_is_the_next_number_that_is_free() {
        for (names, wanted) in [
            (vec![], "Document 1"),
            (vec!["Recipes", "Budget"], "Document 3"),
            (vec!["Recipes", "document  3"], "Document 4"),
            (vec!["Document 4", "Document 3", "DOCUMENT 5"], "Document 6"),
        ] {
            let documents: Vec<DocumentExcerpt> =
                names.iter().zip(1..).map(|(name, number)| document(number, name)).collect();
            assert_eq!(name_for(&ActDecision::default(), "", &documents), wanted, "{names:?}");
        }
    }

    /// Shows: S5-R072.
    #[test]
    fn no_name_is_blank_long_or_on_two_lines() {
        let long = "x".repeat(1_000);
        for text in [
            "create",
            "create '",
            "create ''",
            "create **",
            "for «",
            "create \u{0}\n",
            &format!("add {long}"),
            "new é'",
        ] {
            let found = [name(None, Some(text), ""), name(None, None, text)];
            let longest = found.iter().map(|name| name.chars().count()).max();
            assert!(
                longest.is_some_and(|chars| (1..=DOCUMENT_NAME_CHARS).contains(&chars)),
                "{text:?}: {found:?}"
            );
            for name in found.into_iter().chain([name(Some(text), None, "")]) {
                assert!(!name.is_empty(), "{text:?}");
                assert!(!name.contains(char::is_control) && name.trim() == name, "{text:?}: {name:?}");
            }
        }
    }
}
