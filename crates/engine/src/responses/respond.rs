//! A message to an entry point of an agency, followed to its answer.

use tokio_util::sync::CancellationToken;

use super::Follow;
use crate::{
    ChatMessage, Client, Error, Result,
    client::{chat_in, checked_name},
};

impl Client {
    /// Sends a message to an entry point of an agency, the first if `speech` names none, and follows it to
    /// its answer as [`Follow::begin`] does. A chat of the same name in another agency is another chat.
    ///
    /// # Errors
    /// [`Error::UnknownAgency`]; [`Error::Invalid`] for a recipient that is no entry point; and as for
    /// [`Client::speak`].
    pub async fn respond(
        &self,
        agency: &str,
        mut speech: ChatMessage,
        key: Option<&str>,
        stays: CancellationToken,
    ) -> Result<Follow> {
        checked_name("chat's name", &speech.chat)?;
        checked_name("entry point's name", &speech.to)?;
        let agency = self.agency(agency)?;
        let entry_points = agency.chart.entry_points();
        match entry_points.first() {
            Some(first) if speech.to.is_empty() => speech.to.clone_from(first),
            _ if entry_points.contains(&speech.to) => {}
            _ => {
                return Err(Error::Invalid(format!(
                    "`{}` is no entry point of `{}`; there are: {}",
                    speech.to,
                    agency.name,
                    entry_points.join(", ")
                )));
            }
        }
        // An empty name stays empty, so that it is refused as such.
        if !speech.chat.trim().is_empty() {
            speech.chat = chat_in(&agency, &speech.chat);
        }
        Follow::begin(self, speech, key, stays).await
    }
}
