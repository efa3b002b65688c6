//! The new content of a document, from what the model wrote.

use std::borrow::Cow;

use entourage_types::{MOST_SECTION_EDITS, in_line_ends_of};
use serde::Deserialize;
use serde_json::{Value, json};

use super::outcome::EditError;

/// The form in which the model is asked for the new content of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RewriteForm {
    /// The whole document in Markdown (S5-R061).
    Whole,
    /// JSON with changes in places, or with the whole document.
    Edits,
}

impl RewriteForm {
    /// The form that suits a content, of which at most so many characters are written anew as a whole.
    pub(crate) fn for_content(content: &str, whole_chars: usize) -> Self {
        let is_long = content.len() > whole_chars && content.chars().count() > whole_chars;
        if is_long { Self::Edits } else { Self::Whole }
    }
}

/// What the model wrote to change a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// The whole new content.
    Whole(String),
    /// Changes in places, one after the other.
    Edits(Vec<PassageEdit>),
}

/// A change of one passage of a content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PassageEdit {
    /// The passage that is replaced; it occurs once. If it is empty, the new text is added at the end.
    #[serde(default)]
    old: String,
    /// What takes its place.
    #[serde(default)]
    new: String,
}

impl Rewrite {
    /// Reads a whole document. A fence around all of it is not part of it, nor are the sections in which the prompt shows it:
    /// weak models write these as well.
    pub(crate) fn from_markdown(text: &str, current: &str) -> Self {
        let is_fenced_already = current.trim_start().starts_with("```");
        let inner = if is_fenced_already { None } else { without_fence(text) };
        let text = inner.unwrap_or(text);
        let has_sections_already = current.contains(CONTENT.0);
        let inner = if has_sections_already { None } else { without_sections(text) };
        Self::Whole(inner.unwrap_or(text).to_owned())
    }

    /// Reads an answer in the form of [`Rewrite::schema`]. If it has both, the whole document counts.
    pub(crate) fn from_json(answer: &Value) -> Self {
        let text = |key| answer.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        match text("content") {
            Some(content) => Self::Whole(content.to_owned()),
            None => {
                let edits = answer.get("edits").and_then(Value::as_array).into_iter().flatten();
                Self::Edits(edits.filter_map(|edit| PassageEdit::deserialize(edit).ok()).collect())
            }
        }
    }

    /// The JSON schema of changes in places.
    pub(crate) fn schema() -> Value {
        let edit = json!({
            "type": "object",
            "properties": {
                "old": {
                    "description": "A passage of the content, copied exactly, long enough to occur once. Empty to add \
                                    `new` at the end.",
                    "type": "string",
                },
                "new": { "description": "What takes its place, in Markdown. Empty to remove it.", "type": "string" },
            },
            "required": ["old", "new"],
        });
        json!({
            "type": "object",
            "properties": {
                "edits": {
                    "description": "The changes, in the order in which they are made.",
                    "type": "array",
                    "items": edit,
                    "maxItems": MOST_SECTION_EDITS,
                },
                "content": {
                    "description": "Instead of edits: the whole new content, if nearly all of it changes.",
                    "type": ["string", "null"],
                },
            },
        })
    }

    /// Returns the new content (S5-R061).
    ///
    /// # Errors
    /// It would be empty (S5-R064), or a change has no place, or several, in the content.
    pub(crate) fn apply(&self, current: &str) -> Result<String, EditError> {
        let content = match self {
            Self::Whole(content) => repaired(in_line_ends_of(current, content).into_owned(), current),
            Self::Edits(edits) if edits.is_empty() => return Err(EditError::Empty),
            Self::Edits(edits) => {
                edits.iter().try_fold(current.to_owned(), |content, edit| edit.apply(&content))?
            }
        };
        if content.trim().is_empty() { Err(EditError::Empty) } else { Ok(content) }
    }
}

impl PassageEdit {
    fn apply(&self, content: &str) -> Result<String, EditError> {
        let [old, new] = [&self.old, &self.new].map(|part| in_line_ends_of(content, part));
        if old.trim().is_empty() {
            let (before, added) = (content.trim_end(), self.new.trim());
            let between = if before.is_empty() || added.is_empty() { "" } else { "\n\n" };
            let end = format!("{between}{added}\n");
            return Ok(format!("{before}{}", in_line_ends_of(content, &end)));
        }
        if let Some(content) = replaced(content, &old, &new) {
            return Ok(content);
        }
        // The passage may be copied from the prompt as it stands there.
        let (old, new) = (unescaped(&old), unescaped(&new));
        replaced(content, &old, &new).ok_or(EditError::Misplaced)
    }
}

/// Replaces a passage that occurs once.
fn replaced(content: &str, old: &str, new: &str) -> Option<String> {
    let mut places = content.match_indices(old);
    let (at, _) = places.next().filter(|_| places.next().is_none())?;
    Some(format!("{}{new}{}", &content[..at], &content[at + old.len()..]))
}

/// Where the content of a document begins and ends in a prompt.
const CONTENT: (&str, &str) = ("<content>\n", "\n</content>");

/// Returns the content of a document that is written as a prompt shows it.
fn without_sections(text: &str) -> Option<&str> {
    let shown = text.trim_start();
    if !(shown.starts_with("<document") || shown.starts_with("<content>")) {
        return None;
    }
    let (_, rest) = shown.split_once(CONTENT.0)?;
    rest.rsplit_once(CONTENT.1).map(|(content, _)| content)
}

/// Returns the text between a fence in the first and one in the last line, if all between them belongs together.
fn without_fence(text: &str) -> Option<&str> {
    let text = text.trim();
    let (info, rest) = text.strip_prefix("```")?.split_once('\n')?;
    let inner = rest.strip_suffix("```")?;
    let is_whole = inner.is_empty() || inner.ends_with('\n');
    let fences: Vec<&str> = inner.lines().map(str::trim).filter(|line| line.starts_with("```")).collect();
    // A bare fence would close the first one.
    let is_nested = fences.len().is_multiple_of(2) && fences.first().is_none_or(|fence| fence.len() > 3);
    let is_markdown = matches!(info.trim().to_ascii_lowercase().as_str(), "" | "markdown" | "md");
    (is_whole && is_markdown && is_nested).then_some(inner)
}

/// The characters that a prompt shows as entities, and these.
const ENTITIES: [(char, &str); 4] = [('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('&', "&amp;")];

/// Returns a text with the characters that a prompt shows as entities.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    // The ampersand last: `&amp;lt;` is what a prompt shows of `&lt;`.
    let replace =
        |text: String, (character, entity): (char, &str)| text.replace(entity, &character.to_string());
    Cow::Owned(ENTITIES.into_iter().fold(text.to_owned(), replace))
}

/// Undoes that a weak model copied all entities from the prompt: the content had such characters and no entities, and
/// the new one has entities and no such character.
fn repaired(content: String, current: &str) -> String {
    let has_entities = |text: &str| ENTITIES.iter().any(|(_, entity)| text.contains(entity));
    let has_characters = |text: &str| unescaped(text) == text && text.contains(['<', '>', '&']);
    let without: String = ENTITIES.iter().fold(content.clone(), |text, (_, entity)| text.replace(entity, ""));
    let is_copied = has_characters(current)
        && !has_entities(current)
        && has_entities(&content)
        && !without.contains(['<', '>', '&']);
    if is_copied { unescaped(&content).into_owned() } else { content }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(edits: &[(&str, &str)]) -> Value {
        let edits: Vec<Value> = edits.iter().map(|(old, new)| json!({ "old": old, "new": new })).collect();
        json!({ "edits": edits })
    }

    #[test]
    fn the_sections_of_a_prompt_are_no_part_of_a_document() {
        let shown = "<document id=\"1\" name=\"Soup\">\n<standing_instruction>\n</standing_instruction>\n<content>\n# Soup\n\n\
                     Salt.\n</content>\n</document>\n<user_message>\nSalt it.\n</user_message>";
        assert_eq!(Rewrite::from_markdown(shown, "# Soup"), Rewrite::Whole("# Soup\n\nSalt.".into()));
        for kept in ["<document> is a tag.", "# About <content>\n\nIt is a section.\n</content>"] {
            assert_eq!(Rewrite::from_markdown(kept, "# Soup"), Rewrite::Whole(kept.into()), "{kept}");
        }
        let about = "<document>\n<content>\nA.\n</content>";
        assert_eq!(Rewrite::from_markdown(about, about), Rewrite::Whole(about.into()), "it was in it before");
    }

    /// Shows: S5-R061.
    #[test]
    fn the_whole_new_content_replaces_the_old_one() {
        let current = "# Soup\n\nWater & salt, <b>hot</b>.\n";
        for (text, content) in [
            ("# Soup\n\nMilk.", "# Soup\n\nMilk."),
            ("```markdown\n# Soup\n```", "# Soup\n"),
            (
                "```\n# Soup\n\n```rust\nfn a() {}\n```\nEnd.\n```\n",
                "# Soup\n\n```rust\nfn a() {}\n```\nEnd.\n",
            ),
            ("```rust\nfn a() {}\n```", "```rust\nfn a() {}\n```"),
            ("```\na\n```\ntext\n```\nb\n```", "```\na\n```\ntext\n```\nb\n```"),
            ("Milk &amp; salt, &lt;b&gt;hot&lt;/b&gt;.", "Milk & salt, <b>hot</b>."),
            ("Milk & salt, &lt;b&gt;.", "Milk & salt, &lt;b&gt;."),
        ] {
            assert_eq!(
                Rewrite::from_markdown(text, current).apply(current).as_deref(),
                Ok(content),
                "{text}"
            );
        }
        let fenced = "```\n# Soup\n```";
        assert_eq!(Rewrite::from_markdown(fenced, "```\n# Tea\n```").apply("").as_deref(), Ok(fenced));
        let plain = "It is written &lt;.";
        assert_eq!(Rewrite::from_markdown(plain, "Entities.").apply("Entities.").as_deref(), Ok(plain));
    }

    #[test]
    fn changes_in_places_leave_the_rest_as_it_is() {
        let current = "# Soup\n\nWater & salt.\n\n# Tea\n\nWater & \"leaves\".\n";
        for (answer, content) in [
            (edits(&[("# Soup", "# Broth")]), Ok(current.replace("Soup", "Broth"))),
            (edits(&[("Soup", "Broth"), ("Broth\n", "Stock\n")]), Ok(current.replace("Soup", "Stock"))),
            (edits(&[("# Soup\n\nWater & salt.\n\n", "")]), Ok("# Tea\n\nWater & \"leaves\".\n".to_owned())),
            (edits(&[("", "# Milk\n")]), Ok(format!("{current}\n# Milk\n"))),
            (
                edits(&[("Water &amp; &quot;leaves&quot;", "Milk &amp; &lt;b&gt;")]),
                Ok(current.replace("Water & \"leaves\"", "Milk & <b>")),
            ),
            (json!({ "content": "# All", "edits": [] }), Ok("# All".to_owned())),
            (edits(&[("Water", "Milk")]), Err(EditError::Misplaced)),
            (edits(&[("Soup", "Broth"), ("Coffee", "")]), Err(EditError::Misplaced)),
        ] {
            assert_eq!(Rewrite::from_json(&answer).apply(current), content, "{answer}");
        }
    }

    #[test]
    fn a_change_has_the_line_ends_of_the_content() {
        let current = "# Soup\r\n\r\nWater.\r\n";
        for (answer, content) in [
            (edits(&[("Soup\n\nWater.", "Tea\n\nLeaves.")]), "# Tea\r\n\r\nLeaves.\r\n"),
            (edits(&[("", "# Milk\n\nCold.")]), "# Soup\r\n\r\nWater.\r\n\r\n# Milk\r\n\r\nCold.\r\n"),
            (json!({ "content": "# All\n\nNew.\n" }), "# All\r\n\r\nNew.\r\n"),
        ] {
            assert_eq!(Rewrite::from_json(&answer).apply(current).as_deref(), Ok(content), "{answer}");
        }
    }

    /// Shows: S5-R064.
    #[test]
    fn nothing_never_replaces_a_content() {
        let current = "# Soup\n";
        for text in ["", " \n", "```markdown\n```", "```\n\n```"] {
            assert_eq!(
                Rewrite::from_markdown(text, current).apply(current),
                Err(EditError::Empty),
                "{text:?}"
            );
        }
        for answer in
            [json!({}), json!({ "edits": [] }), json!({ "content": " " }), edits(&[("# Soup\n", "")])]
        {
            assert_eq!(Rewrite::from_json(&answer).apply(current), Err(EditError::Empty), "{answer}");
        }
    }

    #[test]
    fn a_long_document_is_changed_in_places() {
        assert_eq!(RewriteForm::for_content(&"é".repeat(8), 8), RewriteForm::Whole);
        assert_eq!(RewriteForm::for_content(&"é".repeat(9), 8), RewriteForm::Edits);
        assert!(entourage_tools::TextSchema::new(&Rewrite::schema()).is_ok());
    }
}
