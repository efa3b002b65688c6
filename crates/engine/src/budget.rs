//! Limits in money, which work only if every model that a run may ask has a known price.

use entourage_types::{Kind, Usage};

use crate::Engine;

impl Engine {
    /// The models that agents of a kind may ask, in the order of preference; `None` is the engine's default.
    pub(crate) fn models_of(&self, kind: &Kind) -> Vec<Option<String>> {
        let fallback = match (&kind.model, kind.fallback.as_slice()) {
            (None, []) => self.model().fallback(),
            (_, own) => own,
        };
        std::iter::once(kind.model.clone()).chain(fallback.iter().cloned().map(Some)).collect()
    }

    /// Checks that a kind's limit in money can be enforced.
    ///
    /// # Errors
    /// Names the model whose price is not known, and what to do about it.
    pub(crate) fn check_budget(&self, kind: &Kind) -> Result<(), String> {
        let Some(limit) = kind.limits.max_cost else { return Ok(()) };
        let token = Usage { input: 1, output: 1, ..Usage::default() };
        let models = self.models_of(kind);
        let Some(unpriced) =
            models.iter().find(|model| self.model().price(model.as_deref(), &token).is_none())
        else {
            return Ok(());
        };
        let model = unpriced.clone().unwrap_or_else(|| self.model().describe());
        Err(format!(
            "kind `{}` may spend {limit} in a run, but the price of {model} is not known. Set it as \
             `models.prices.\"provider::name\"` in the settings, or take `max_cost` away",
            kind.name
        ))
    }
}
