//! The keys that seal secrets of owners.

use std::{fs, io, path::Path};

use entourage_engine::SecretKeys;
use secrecy::SecretString;

use crate::{Error, Result, Settings};

/// Reads the keys that the settings name; none if they name none.
///
/// # Errors
/// [`Error::Settings`] for what is no key, and for a file that cannot be read or that others than its owner can read.
pub fn secret_keys(settings: &Settings) -> Result<Option<SecretKeys>> {
    let (place, text) = match (&settings.secrets.keys, &settings.secrets.keys_file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            let why = "set either the keys or the file that has them, not both";
            return Err(Error::Settings { place: "secrets.keys".into(), why: why.into() });
        }
        (Some(keys), None) => ("secrets.keys".to_owned(), keys.clone()),
        (None, Some(file)) => {
            let place = format!("secrets.keys_file ({})", file.display());
            let text = private(file).map_err(|why| Error::Settings { place: place.clone(), why })?;
            (place, text)
        }
    };
    let keys = SecretKeys::parse(&text);
    keys.map(Some).map_err(|error| Error::Settings { place, why: error.to_string() })
}

/// Reads a file that nobody but its owner can read.
fn private(file: &Path) -> Result<SecretString, String> {
    let unread = |error: io::Error| format!("the file cannot be read: {error}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(file).map_err(unread)?.permissions().mode();
        if mode & 0o077 != 0 {
            let file = file.display();
            return Err(format!(
                "others than its owner can read or write the file (mode {:o}): `chmod 600 {file}`",
                mode & 0o777
            ));
        }
    }
    fs::read_to_string(file).map(Into::into).map_err(unread)
}

#[cfg(test)]
mod tests {
    use entourage_engine::new_secret_key;
    use secrecy::ExposeSecret;

    use super::*;

    fn read(settings: &str) -> Result<Option<SecretKeys>, String> {
        let settings: Settings = toml::from_str(settings).unwrap();
        secret_keys(&settings).map_err(|error| error.to_string())
    }

    #[test]
    #[cfg(unix)]
    fn keys_come_from_a_file_that_only_its_owner_can_read() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        let settings = format!("[secrets]\nkeys_file = {:?}", path.display().to_string());
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(read(&settings).unwrap_err().contains("cannot be read"));
        fs::write(&path, new_secret_key().unwrap().expose_secret()).unwrap();
        for mode in [0o644, 0o640, 0o602] {
            set(mode);
            assert!(read(&settings).unwrap_err().contains("chmod 600"), "{mode:o}");
        }
        set(0o600);
        assert!(read(&settings).unwrap().is_some());
        fs::write(&path, "canary").unwrap();
        let error = read(&settings).unwrap_err();
        assert!(error.contains("key 1 is not 32 bytes") && !error.contains("canary"), "{error}");
    }

    #[test]
    fn keys_are_set_in_one_place_or_not_at_all() {
        let key = new_secret_key().unwrap();
        assert!(read("").unwrap().is_none());
        assert!(read(&format!("[secrets]\nkeys = {:?}", key.expose_secret())).unwrap().is_some());
        let both = format!("[secrets]\nkeys = {:?}\nkeys_file = \"x\"", key.expose_secret());
        assert!(read(&both).unwrap_err().contains("not both"));
    }
}
