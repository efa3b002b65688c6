//! Recognizes files that usually hold keys or passwords by their names.

use std::path::{Component, Path};

/// Suffixes of copies, besides a number.
const COPIES: [&str; 15] = [
    "~", "-", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".tmp", ".copy", ".gz", ".bz2", ".xz",
    ".zst", ".zip",
];
/// Suffixes of secret files.
const ENDINGS: [&str; 24] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".ppk",
    ".jks",
    ".keystore",
    ".kdb",
    ".kdbx",
    ".gpg",
    ".ovpn",
    ".env",
    ".env.txt",
    ".secret",
    ".secrets",
    ".pgpass",
    ".netrc",
    ".htpasswd",
    ".tfstate",
    ".tfvars",
    "-key.json",
    "_key.json",
    "wp-config.php",
];
/// Suffixes of the name before the first dot.
const STEMS: [&str; 8] = [
    "credentials",
    "service-account",
    "service_account",
    "serviceaccount",
    "_rsa",
    "_dsa",
    "_ecdsa",
    "_ed25519",
];
/// Names of secret data files without their extension, possibly with a prefix.
const WORDS: [&str; 14] = [
    "env",
    "secret",
    "secrets",
    "apikey",
    "apikeys",
    "api_key",
    "api_keys",
    "accesskeys",
    "access_key",
    "access_keys",
    "access_token",
    "auth_token",
    "oauth_token",
    "private_key",
];
/// Extensions of data files: programs and documents only mention secrets. The last eight name the purpose of
/// a settings file, as in `prod.env.local`.
const DATA: [&str; 20] = [
    "asc",
    "cfg",
    "conf",
    "csv",
    "ini",
    "json",
    "properties",
    "toml",
    "txt",
    "xml",
    "yaml",
    "yml",
    "dev",
    "development",
    "local",
    "prod",
    "production",
    "stage",
    "staging",
    "test",
];
/// Prefixes of secret files.
const BEGINNINGS: [&str; 5] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials"];
/// Prefixes of secret files, except of programs, which only mention secrets.
const HEADS: [&str; 8] =
    ["secret.", "secrets.", "env.", "password.", "passwords.", "passwd.", "client_secret", "client-secret"];
/// Extensions of programs, which do not hold secrets themselves.
const PROGRAMS: [&str; 16] = [
    ".rs", ".go", ".java", ".kt", ".scala", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".swift", ".ts",
    ".tsx", ".vue", ".dart",
];
/// Whole names of secret files.
const NAMES: [&str; 17] = [
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "shadow",
    "kubeconfig",
    "htpasswd",
    "wallet.dat",
    "master.key",
    "token",
    "tokens",
    "auth.json",
    "cookies.sqlite",
    "cookies.txt",
    "pgpass.conf",
    "private.asc",
];

/// The longest file name, in bytes.
const LONGEST: usize = 255;

/// Whether a path has a component that is hidden, or that usually holds secrets.
pub(super) fn is_secret(path: &Path) -> bool {
    path.components().any(|part| match part {
        // A component that is too long for a file name is not examined, however long a model makes it.
        Component::Normal(name) if name.len() > LONGEST => true,
        Component::Normal(name) => is_secret_name(&name.to_string_lossy().to_lowercase()),
        _ => false,
    })
}

/// Whether a name, or that of the original if it is a copy, is that of a secret file.
fn is_secret_name(name: &str) -> bool {
    std::iter::successors(Some(name), |name| original(name)).any(is_secret_itself)
}

/// Returns the name without the suffix of a copy.
fn original(name: &str) -> Option<&str> {
    let numbered = name.rsplit_once('.').filter(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()));
    let copied = || COPIES.iter().find_map(|copy| name.strip_suffix(copy));
    numbered.map(|(original, _)| original).or_else(copied)
}

fn is_secret_itself(name: &str) -> bool {
    let is_key_pair = name.starts_with("id_") && !name.contains('.');
    let stem = name.split('.').next().unwrap_or_default();
    name.starts_with('.')
        || is_key_pair
        || STEMS.iter().any(|ending| stem.ends_with(ending))
        || is_data_of_secrets(name)
        || NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || HEADS.iter().any(|head| name.starts_with(head)) && !PROGRAMS.iter().any(|end| name.ends_with(end))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn is_data_of_secrets(name: &str) -> bool {
    let Some((stem, kind)) = name.rsplit_once('.') else { return false };
    let stem = stem.replace('-', "_");
    let is_called =
        |word: &&str| stem.strip_suffix(*word).is_some_and(|own| own.is_empty() || own.ends_with(['_', '.']));
    DATA.contains(&kind) && WORDS.iter().any(is_called)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_of_secrets_are_told_apart_from_others() {
        for secret in [
            ".env",
            ".env.local",
            "prod.env",
            ".git/config",
            "a/.ssh/known_hosts",
            "server.PEM",
            "id_rsa",
            "id_ed25519.pub",
            "id_work",
            "credentials",
            "Credentials.json",
            "secrets.yaml",
            "x/secrets/a.txt",
            "terraform.tfstate",
            "deploy.key",
            "vault.kdbx",
            ".netrc",
            "passwords.txt",
            "passwd",
            "service-account.json",
            "my-credentials.json",
            "server.pem.bak",
            "prod.key~",
            ".env~",
            "deploy_rsa",
            "deploy_ed25519.pub",
            "gcloud-key.json",
            "config.env.bak",
            "wp-config.php",
            "wp-config.php.old",
            "server.pem.1",
            "server.pem-",
            "server.pem.gz",
            "shadow-",
            "app.secret",
            "my-secrets.yaml",
            "api_keys.txt",
            "aws_access_keys.csv",
            "accessKeys.csv",
            "oauth_token.json",
            "private-key.asc",
            "private.asc",
            "auth.json",
            "pgpass.conf",
            "prod.env.txt",
            "cookies.txt",
            "secret.gz",
            "secret.zip",
            "secret.1",
            "env.gz",
            "env.1",
            "env.bak",
            "env.bak.1",
            "env.local",
            "prod.env.local",
            "db.secret.yaml",
            "prod.secrets.yaml",
            "appsettings.secrets.json",
            "client_secret_123.apps.googleusercontent.com.json",
            "secret",
            "password.txt",
            "secrets.prod.yaml",
            "secrets.production.json",
            "secret.staging.yml",
            "secrets.enc.yaml",
            "env.production.json",
            "secrets.yaml.example",
            "passwords.2024.txt",
            "env.sh",
            "secrets.nix",
            "secrets.db",
            "secrets.tar.gz",
            "passwords.xlsx",
            "passwd.db",
            "secrets.py",
        ] {
            assert!(is_secret(Path::new(secret)), "{secret}");
        }
        for long in ["~".repeat(1 << 20), "a.1".repeat(1 << 18)] {
            assert!(is_secret(Path::new(&long)));
        }
        for plain in [
            "",
            ".",
            "notes.md",
            "src/main.rs",
            "id_mapping.csv",
            "environment.md",
            "keynote.txt",
            "secretary.md",
            "tokenizer.rs",
            "ideas",
            "notes.md.bak",
            "keys.json",
            "reset-password.md",
            "config.php",
            "a.b/c",
            "token.rs",
            "manage_secrets.py",
            "about-secrets.md",
            "design-tokens.json",
            "translations/secretary.json",
            "release.tar.gz.asc",
            "notes.tar.gz",
            "report.2024",
            "chapter-1.2",
            "auth.ts",
            "cookies.md",
            "src/env/mod.rs",
            "env.ts",
            "secret.rs",
            "password.rs",
            "client_secret.rs",
            "reset-password.json",
            "translations/reset_password.json",
        ] {
            assert!(!is_secret(Path::new(plain)), "{plain}");
        }
    }
}
