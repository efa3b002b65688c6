//! The default data directory.

use std::{env, path::PathBuf};

use crate::{Error, Result};

/// `$XDG_DATA_HOME/entourage`, or `~/.local/share/entourage`.
pub(super) fn data_directory() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    base.map(|base| base.join("entourage")).ok_or(Error::NoDataDirectory)
}
