//! Files that usually hold keys or passwords, by their names.

use std::path::{Component, Path};

/// What a copy's name has behind that of the file.
const COPIES: [&str; 9] = ["~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".tmp", ".copy"];
/// How the names of such files end.
const ENDINGS: [&str; 21] = [
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
    ".pgpass",
    ".netrc",
    ".htpasswd",
    ".tfstate",
    ".tfvars",
    "-key.json",
    "_key.json",
    "wp-config.php",
];
/// Their whole names before the first dot.
const PASSWORDS: [&str; 3] = ["password", "passwords", "passwd"];
/// How their names end before the first dot.
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
/// How they begin.
const BEGINNINGS: [&str; 8] =
    ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "secrets.", "secret.", "env."];
/// Their whole names.
const NAMES: [&str; 8] =
    ["secrets", "shadow", "kubeconfig", "htpasswd", "wallet.dat", "master.key", "token", "tokens"];

/// Whether a path has a part that is hidden, or that usually holds what is nobody else's business.
pub(super) fn is_secret(path: &Path) -> bool {
    path.components().any(|part| match part {
        Component::Normal(name) => is_secret_name(&name.to_string_lossy().to_lowercase()),
        _ => false,
    })
}

fn is_secret_name(name: &str) -> bool {
    if let Some(original) = COPIES.iter().find_map(|copy| name.strip_suffix(copy)) {
        return name.starts_with('.') || is_secret_name(original);
    }
    let is_key_pair = name.starts_with("id_") && !name.contains('.');
    let stem = name.split('.').next().unwrap_or_default();
    name.starts_with('.')
        || is_key_pair
        || STEMS.iter().any(|ending| stem.ends_with(ending))
        || NAMES.contains(&name)
        || PASSWORDS.contains(&stem)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_and_others_are_not_taken_for_them() {
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
        ] {
            assert!(is_secret(Path::new(secret)), "{secret}");
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
        ] {
            assert!(!is_secret(Path::new(plain)), "{plain}");
        }
    }
}
