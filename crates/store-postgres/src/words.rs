//! Full-text search: the words of a text as PostgreSQL stores them, and the queries for them. Words are those of
//! `entourage_store::words`, so that every store finds the same; the database's own parsers and dictionaries take no part.

use std::collections::BTreeMap;

use entourage_store::words::{sought_words, tokens};
use entourage_types::{AgentId, Entity, EntityKind, Owner};

/// The last place that a word can have.
const PLACES: usize = 16_383;
/// How many places of a word are kept.
const TIMES: usize = 255;
/// The longest word, in bytes.
const LONGEST: usize = 2_046;
/// The most bytes of all words of a text; the database takes a little more.
const MOST: usize = 900_000;

/// The words of a record's text with their places, and where the record is; none if it has no text.
pub(crate) fn vector(entity: &Entity) -> Option<String> {
    let text = entity.text.as_deref()?;
    let (mut places, mut size): (BTreeMap<String, Vec<usize>>, usize) = (BTreeMap::new(), 0);
    for (at, token) in (1..).zip(tokens(text)) {
        let token = cut(token);
        if !places.contains_key(&token) {
            size += token.len() + 8;
        }
        size += 2;
        if size > MOST {
            break;
        }
        let of_token = places.entry(token).or_default();
        if at <= PLACES && of_token.len() < TIMES {
            of_token.push(at);
        }
    }
    let mut vector = quoted(&in_noun(entity.kind));
    for place in [of_owner(entity.kind, &entity.owner)]
        .into_iter()
        .chain(entity.root.map(|root| in_tree(entity.kind, root)))
    {
        vector.push(' ');
        vector.push_str(&quoted(&place));
    }
    for (token, places) in places {
        vector.push(' ');
        vector.push_str(&quoted(&token));
        let places: Vec<String> = places.iter().map(usize::to_string).collect();
        if !places.is_empty() {
            vector.push(':');
            vector.push_str(&places.join(","));
        }
    }
    Some(vector)
}

/// The query for texts with all of these words, the last one as a prefix; none if there are no words. No text is query
/// syntax.
pub(crate) fn query(text: &str) -> Option<String> {
    let mut phrases: Vec<Vec<String>> =
        sought_words(text).map(|word| tokens(word).map(|token| quoted(&cut(token))).collect()).collect();
    phrases.retain(|phrase| !phrase.is_empty());
    phrases.last_mut()?.last_mut()?.push_str(":*");
    Some(phrases.iter().map(|phrase| format!("({})", phrase.join(" <-> "))).collect::<Vec<_>>().join(" & "))
}

/// Narrows a query to a noun, and to an owner or a tree of it.
pub(crate) fn within(query: &str, kind: EntityKind, owner: Option<&Owner>, root: Option<AgentId>) -> String {
    let places = [owner.map(|owner| of_owner(kind, owner)), root.map(|root| in_tree(kind, root))];
    let mut places: Vec<String> = places.into_iter().flatten().collect();
    if places.is_empty() {
        places.push(in_noun(kind));
    }
    let places: Vec<String> = places.iter().map(|place| quoted(place)).collect();
    format!("{} & {query}", places.join(" & "))
}

// No word of a text begins with a slash, so that no prefix of a word finds these.

fn in_noun(kind: EntityKind) -> String {
    format!("/{kind}")
}

fn of_owner(kind: EntityKind, owner: &Owner) -> String {
    format!("/{kind}/{owner}")
}

fn in_tree(kind: EntityKind, root: AgentId) -> String {
    format!("/{kind}//{root}")
}

/// A word that is longer than the database takes is found by its beginning.
fn cut(mut token: String) -> String {
    if token.len() > LONGEST {
        token.truncate(token.floor_char_boundary(LONGEST));
    }
    token
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use entourage_types::Time;

    use super::*;

    fn vector_of(text: &str) -> String {
        let at = Time::from_micros(0);
        let entity = Entity {
            kind: EntityKind::NOTE,
            id: "one".to_owned(),
            owner: Owner::new("o'n\\e"),
            root: None,
            parent: None,
            status: "kept".to_owned(),
            created: at,
            updated: at,
            version: 1,
            name: None,
            text: Some(text.to_owned()),
            body: "{}".to_owned(),
        };
        vector(&entity).unwrap()
    }

    #[test]
    fn words_have_their_places_and_no_owner_is_syntax() {
        assert_eq!(vector_of("It's deep, it is"), "'/note' '/note/o''n\\\\e' 'deep':3 'is':5 'it':1,4 's':2");
    }

    #[test]
    fn a_query_has_phrases_and_a_prefix() {
        assert_eq!(query("it's deep").as_deref(), Some("('it' <-> 's') & ('deep':*)"));
        assert_eq!(query(" * ' "), None);
    }

    #[test]
    fn a_long_text_fits() {
        let long = (0..200_000).map(|n| format!("word{n} ")).collect::<String>() + &"x".repeat(5_000);
        assert!(vector_of(&long).len() < 2_000_000);
        assert!(vector_of(&"again ".repeat(100_000)).len() < 2_000);
    }
}
