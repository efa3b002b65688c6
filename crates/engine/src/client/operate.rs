//! What concerns the whole house and not one owner's rows: for the operator alone, the owner `local`.

use entourage_types::Owner;

use super::Client;
use crate::{Error, House, Reloaded, Result};

impl Client {
    /// Reads the kinds anew; see [`House::reload`].
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator, and those of [`House::reload`].
    pub async fn reload_kinds(&self) -> Result<Reloaded> {
        self.whole_house("to read the kinds anew")?.reload().await
    }

    /// The house, where the caller may do what concerns all of it.
    fn whole_house(&self, what: &'static str) -> Result<&House> {
        if self.owner == Owner::local() { Ok(&self.house) } else { Err(Error::Reserved(what)) }
    }
}
