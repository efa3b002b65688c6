//! The compiled `output_schema` of each version of a kind. Losing one costs time and nothing else.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use entourage_tools::{Error as ToolError, TextSchema};
use entourage_types::Kind;
use lru::LruCache;

/// How many schemas are kept.
const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);
/// Answers of more bytes are checked on a thread for blocking work, where they hold up no other task.
const LARGE: usize = 16 << 10;

/// The schemas by name and version of their kinds.
pub(crate) struct Schemas(Mutex<LruCache<(String, String), Arc<TextSchema>>>);

impl Default for Schemas {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl Schemas {
    /// Returns what is wrong with an answer by the `output_schema` of its agent's kind; none if the answer is
    /// valid, or if the kind has no schema.
    ///
    /// # Errors
    /// When the schema cannot be used.
    pub(crate) async fn mistakes(&self, kind: &Arc<Kind>, answer: &str) -> Result<Option<String>, ToolError> {
        let known = self.known(kind);
        if let Some(schema) = known.as_ref().filter(|_| answer.len() <= LARGE) {
            return Ok(schema.mistakes(answer));
        }
        let (of, answer) = (Arc::clone(kind), answer.to_owned());
        let checking = tokio::task::spawn_blocking(move || {
            let Some(schema) = known.map_or_else(|| compiled(&of), |known| Ok(Some(known)))? else {
                return Ok(None);
            };
            let mistakes = schema.mistakes(&answer);
            Ok::<_, ToolError>(Some((schema, mistakes)))
        });
        let checked = checking
            .await
            .map_err(|error| ToolError::Failed(format!("the check of the answer was cut off: {error}")))?;
        let Some((schema, mistakes)) = checked? else { return Ok(None) };
        self.keep(kind, schema);
        Ok(mistakes)
    }

    fn known(&self, kind: &Kind) -> Option<Arc<TextSchema>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key(kind)).cloned()
    }

    fn keep(&self, kind: &Kind, schema: Arc<TextSchema>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(key(kind), schema);
    }
}

fn compiled(kind: &Kind) -> Result<Option<Arc<TextSchema>>, ToolError> {
    kind.output_schema.as_ref().map(TextSchema::new).transpose().map(|schema| schema.map(Arc::new))
}

fn key(kind: &Kind) -> (String, String) {
    (kind.name.clone(), kind.version.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_schema_is_compiled_once_for_each_version_of_a_kind() {
        let schemas = Schemas::default();
        let kind = |version: &str, of: &str| {
            let output_schema = Some(json!({ "type": of }));
            Arc::new(Kind { version: version.into(), output_schema, ..Kind::bare("a") })
        };
        let (first, second) = (kind("1", "number"), kind("2", "string"));
        assert_eq!(schemas.mistakes(&first, "1").await.unwrap(), None);
        assert!(schemas.mistakes(&second, "1").await.unwrap().is_some());
        let compiled = schemas.known(&first).unwrap();
        assert!(schemas.mistakes(&first, "\"a\"").await.unwrap().is_some());
        let large = format!("1{}", " ".repeat(LARGE));
        assert_eq!(schemas.mistakes(&first, &large).await.unwrap(), None);
        assert!(Arc::ptr_eq(&compiled, &schemas.known(&first).unwrap()));
        assert_eq!(schemas.mistakes(&Arc::new(Kind::bare("b")), "words").await.unwrap(), None);
    }
}
